package main

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"go-grpc/streampb"
)

const (
	mostTicks    = 10_000
	longestGapUS = 1_000_000
)

type streamService struct {
	streampb.UnimplementedStreamServiceServer
}

// Tick sends numbered messages, each when its time has come, until all are sent, the deadline has passed or the client has left.
func (*streamService) Tick(request *streampb.TickRequest, stream grpc.ServerStreamingServer[streampb.Tick]) error {
	if request.Count < 1 || request.Count > mostTicks {
		return status.Errorf(codes.InvalidArgument, "count is 1 to %d", mostTicks)
	}
	if request.GapUs < 0 || request.GapUs > longestGapUS {
		return status.Errorf(codes.InvalidArgument, "gap_us is 0 to %d", longestGapUS)
	}
	gap := time.Duration(request.GapUs) * time.Microsecond
	done := stream.Context().Done()
	for n := int32(1); n <= request.Count; n++ {
		if n > 1 && gap > 0 {
			select {
			case <-done:
				return status.FromContextError(stream.Context().Err()).Err()
			case <-time.After(gap):
			}
		}
		if err := stream.Send(&streampb.Tick{N: n, Of: request.Count}); err != nil {
			return err
		}
	}
	return nil
}

func (*streamService) Sum(stream grpc.ClientStreamingServer[streampb.Number, streampb.Sum]) error {
	sum := &streampb.Sum{}
	for {
		number, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(sum)
		}
		if err != nil {
			return err
		}
		sum.Count++
		sum.Total += number.Value
	}
}

func (*streamService) Echo(stream grpc.BidiStreamingServer[streampb.Message, streampb.Message]) error {
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}
