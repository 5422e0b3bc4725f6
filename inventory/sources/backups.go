package sources

import (
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/inventory/claims"
)

// backups claims of each pair when its data was last backed up, by the records of stowage backup: of the newest backup from which it can be restored, or never. Which
// pairs there are it has from farm.yaml.
func (r *reader) backups(f *farm.Farm, all []catalogue.Backup) {
	for _, p := range f.Pairs {
		var newest *catalogue.Backup
		for _, c := range catalogue.Chains(catalogue.Of(catalogue.Physical(all), f.Name, p.Name)) {
			for _, b := range c.Restorable() {
				if newest == nil || b.At.After(newest.At) {
					newest = &b
				}
			}
		}
		c := claims.Claim{Subject: claims.Subject{Kind: claims.Pair, Name: string(p.Name)}, Attribute: "backup", Value: "never", Place: claims.Place{Where: "stowage backup list"}}
		if newest != nil {
			c.Value, c.At, c.Place.Where = newest.At.UTC().Format(time.DateOnly), newest.At, newest.ID
		}
		r.claims = append(r.claims, c)
	}
}
