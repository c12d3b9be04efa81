# frozen_string_literal: true

require "json"
require "sinatra/base"
require_relative "database"
require_relative "orders"

# orders and fortunes, as a modular Sinatra application.
class App < Sinatra::Base
  # No line per request, and no page with a stack for an error.
  set :environment, :production
  disable :logging, :static, :dump_errors
  # All that a page shows is escaped.
  set :erb, escape_html: true

  error(PG::ConnectionBad, PG::UnableToSend, PG::AdminShutdown, PG::CannotConnectNow) { halt 503 }

  get "/fortunes" do
    halt 400 unless params.key?("nonce")
    @fortunes = Database.query("select id, message from fortune")
    @fortunes << { "id" => 0, "message" => "Additional fortune: #{params["nonce"]}" }
    @fortunes.sort_by! { |fortune| fortune["message"] }
    erb :fortunes
  end

  post "/orders" do
    order = Orders::New.parse(request.body.read) || halt(400)
    Database.transaction do
      prices = Orders.prices(order)
      faults = order.faults(Orders.customer?(order), prices)
      halt 422, json(errors: faults) unless faults.empty?

      created = Orders.create(order, prices)
      headers "Location" => "/orders/#{created[:id]}"
      [201, json(created)]
    end
  end

  get("/orders/:id") { whole(id) }

  get "/orders" do
    customer = number("customer") || halt(400)
    limit = params.key?("limit") ? number("limit") : 20
    after = params.key?("after") ? number("after") : 0
    halt 400 unless limit&.between?(1, 50) && after

    json(Orders.list(customer, after, limit))
  end

  patch "/orders/:id" do
    version = request.get_header("HTTP_IF_MATCH") || halt(428)
    status = Orders.status(request.body.read) || halt(400)
    Database.transaction do
      state = Orders.lock(id) || halt(404)
      halt 412 unless version == %("#{state["version"]}")
      halt 409 unless Orders::TRANSITIONS[state["status"]].include?(status)

      Orders.set_status(id, status)
      whole(id)
    end
  end

  delete "/orders/:id" do
    Database.transaction do
      state = Orders.lock(id) || halt(404)
      halt 409 unless state["status"] == "open"

      Orders.delete(id)
      204
    end
  end

  private

  def id
    number("id") || halt(404)
  end

  def whole(id)
    order = Orders.find(id) || halt(404)
    etag_of(order)
    json(order)
  end

  # Not Sinatra's own `etag`, which would answer the condition by itself.
  def etag_of(order)
    headers "ETag" => %("#{order[:version]}")
  end

  # A parameter that is a number, as PostgreSQL's bigint holds it.
  def number(name)
    params[name].to_i if params[name].to_s.match?(/\A[0-9]{1,18}\z/)
  end

  def json(value)
    content_type :json
    JSON.generate(value)
  end
end
