module stowage/bench

go 1.26

require github.com/percona/go-mysql v0.0.0-20210427141028-73d29c6da78c

require github.com/stretchr/testify v1.12.1 // indirect
