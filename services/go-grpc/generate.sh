#!/bin/sh
# Writes personpb/*.pb.go and streampb/*.pb.go from the .proto files.
set -eu
go build -o plugins/ google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
for name in person stream; do
    mkdir -p "${name}pb"
    protoc --plugin=plugins/protoc-gen-go --plugin=plugins/protoc-gen-go-grpc \
        --go_out="${name}pb" --go_opt="paths=source_relative,M$name.proto=go-grpc/${name}pb" \
        --go-grpc_out="${name}pb" --go-grpc_opt="paths=source_relative,M$name.proto=go-grpc/${name}pb" \
        "$name.proto"
done
rm -r plugins
