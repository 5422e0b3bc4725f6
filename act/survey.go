package act

import (
	"context"
	"errors"
	"slices"
	"sync"

	"stowage/engine"
	"stowage/farm"
)

// surveyed is how many lanes are asked at once.
const surveyed = 8

// SurveyJob asks everything of every part of a job, and reports everything that was found, in the order of the lanes.
func (a *Act) SurveyJob(ctx context.Context, job engine.Job) ([]farm.Finding, error) {
	found, errs := make([][]farm.Finding, len(job.Lanes)), make([]error, len(job.Lanes))
	room := make(chan struct{}, surveyed)
	var wg sync.WaitGroup
	for n, lane := range job.Lanes {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			for _, part := range lane.Parts {
				of, err := a.surveyPart(ctx, job, lane.Name, part)
				found[n], errs[n] = append(found[n], of...), errors.Join(errs[n], err)
			}
		})
	}
	wg.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

func (a *Act) surveyPart(ctx context.Context, job engine.Job, lane string, part engine.Part) ([]farm.Finding, error) {
	w, err := a.Kind.Open(engine.Call{Job: job.ID, Kind: a.Kind.Name, Lane: lane, Subject: part.Subject, Args: part.Args, Attempt: 1})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.Survey(ctx)
}
