# frozen_string_literal: true

# The router compares paths as they were sent, but /api/%74est names the same resource as /api/test.
class PlainPath
  def initialize(app)
    @app = app
  end

  def call(env)
    path = env["PATH_INFO"]
    env["PATH_INFO"] = path.gsub(/%(2D|2E|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)/i) { [$1].pack("H2") } if path.include?("%")
    @app.call(env)
  end
end
