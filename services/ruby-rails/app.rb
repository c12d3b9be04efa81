# frozen_string_literal: true

require "action_controller/railtie"
require_relative "numbers"
require_relative "plain_path"

# hello and sequence, as a Rails application of one file: API only, in production.
class App < Rails::Application
  config.load_defaults 6.1
  config.api_only = true
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = "nothing is signed here"
  # Production writes lines per request unless it is told otherwise.
  config.logger = Logger.new($stderr, level: Logger::FATAL)
  config.log_level = :fatal
  config.middleware.insert 0, PlainPath

  routes.append do
    scope "/api", format: false do
      get "test", to: "service#hello"
      get "count/:n", to: "service#count"
      get "fib/:n", to: "service#fib"
    end
  end
end

class ServiceController < ActionController::API
  def hello
    text("Hello, World!")
  end

  def count
    numbers(:count)
  end

  def fib
    numbers(:fib)
  end

  private

  def numbers(operation)
    n = Numbers.parse(params[:n])
    return text("n must be an integer from 0 to 10000", status: 400) unless n

    text(Numbers.public_send(operation, n))
  end

  def text(body, status: 200)
    render plain: body, status: status
  end
end

App.initialize!
