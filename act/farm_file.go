package act

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"stowage/farm"
)

// AwaitFarmFile writes into farm.yaml, and waits up to patience for a file that
// somebody has broken or taken away just now: the servers are where they are to
// be, and what is left to do is to say so there. Its error wraps ErrFarmFile
// when the file stayed as it was.
func AwaitFarmFile(ctx context.Context, patience time.Duration, tell func(farm.Event), write func() error) error {
	told := false
	for end := time.Now().Add(patience); ; told = true {
		err := write()
		if !errors.Is(err, farm.ErrInput) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %w", ErrFarmFile, err)
		}
		if !told {
			tell(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("waits for a farm.yaml that can be read and written: %v. Correct it; .stowage/kept/farm.yaml is the last good one", err)})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
