package vault

import (
	"context"
	"io"
	"os/exec"
)

// pack compresses what fill writes into w and returns the length of the stream. After an error w has a part of it. The program zstd does
// it where it is installed: it needs two thirds of the library's CPU time (docs/decisions/0136), which is time of the server that is
// backed up. What both write is the same to every reader: frames with a checksum of their content.
func pack(ctx context.Context, w io.Writer, level int, fill func(io.Writer) error) (raw int64, err error) {
	if program, err := exec.LookPath("zstd"); err == nil {
		return packByProgram(ctx, program, w, level, fill)
	}
	return packByLibrary(ctx, w, level, fill)
}
