# frozen_string_literal: true

require "puma/client"

# Puma 5.6 takes what follows a body on the connection for a part of it: the next request would be lost.
module Pipelining
  private

  def setup_body
    ready = super
    length = @env["CONTENT_LENGTH"].to_i
    if @body.is_a?(StringIO) && @body.size > length
      received = @body.string
      @body = StringIO.new(received.byteslice(0, length))
      @buffer = received.byteslice(length..)
    end
    ready
  end
end

Puma::Client.prepend(Pipelining)
