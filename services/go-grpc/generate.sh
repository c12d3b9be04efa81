#!/bin/sh
# Writes personpb/*.pb.go from person.proto.
set -eu
go build -o plugins/ google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
mkdir -p personpb
protoc --plugin=plugins/protoc-gen-go --plugin=plugins/protoc-gen-go-grpc \
    --go_out=personpb --go_opt=paths=source_relative,Mperson.proto=go-grpc/personpb \
    --go-grpc_out=personpb --go-grpc_opt=paths=source_relative,Mperson.proto=go-grpc/personpb \
    person.proto
rm -r plugins
