# frozen_string_literal: true

require "json"
require_relative "database"

# A shop's orders, as the database has them.
module Orders
  TRANSITIONS = { "open" => %w[paid cancelled], "paid" => %w[shipped cancelled], "shipped" => [], "cancelled" => [] }.freeze

  # What a client asks for.
  New = Struct.new(:customer, :note, :lines) do
    # nil for what is no order.
    def self.parse(text)
      body = JSON.parse(text)
      return unless body.is_a?(Hash) && body["lines"].is_a?(Array)
      return unless bigint?(body["customerId"]) && (body["note"].nil? || Orders.text?(body["note"]))
      return unless body["lines"].all? { |line| line.is_a?(Hash) && bigint?(line["productId"]) && bigint?(line["quantity"]) }

      new(body["customerId"], body["note"], body["lines"])
    rescue JSON::ParserError
      nil
    end

    def self.bigint?(value)
      value.is_a?(Integer) && value.bit_length < 64
    end

    # All that is wrong with it.
    def faults(customer_is_known, prices)
      faults = []
      faults << ["customerId", "unknown"] unless customer_is_known
      faults << ["note", "length"] if note && note.length > 500
      faults << ["lines", "range"] unless lines.length.between?(1, 20)
      lines.each_with_index do |line, number|
        faults << ["lines[#{number}].productId", "unknown"] unless prices.key?(line["productId"])
        faults << ["lines[#{number}].quantity", "range"] unless line["quantity"].between?(1, 1000)
      end
      faults.map { |field, code| { field: field, code: code } }
    end
  end

  module_function

  # A text as PostgreSQL can store it.
  def text?(value)
    value.is_a?(String) && value.valid_encoding? && !value.include?("\0")
  end

  # The status that the body of a change asks for, or nil.
  def status(text)
    body = JSON.parse(text)
    body["status"] if body.is_a?(Hash) && text?(body["status"])
  rescue JSON::ParserError
    nil
  end

  def customer?(order)
    Database.query("select from customer where id = $1::bigint", order.customer).any?
  end

  # The prices of those of its products that there are.
  def prices(order)
    ids = order.lines.map { |line| line["productId"] }.uniq
    Database.query("select id, price_cents from product where id = any($1::bigint[])", ids).to_h(&:values)
  end

  def create(order, prices)
    total = order.lines.sum { |line| prices[line["productId"]] * line["quantity"] }
    row = Database.query(<<~SQL, order.customer, order.note, total).first
      insert into orders (customer_id, status, note, total_cents) values ($1, 'open', $2, $3) returning *
    SQL
    lines = order.lines.map do |line|
      { "product_id" => line["productId"], "quantity" => line["quantity"], "price_cents" => prices[line["productId"]] }
    end
    Database.query(<<~SQL, row["id"], *%w[product_id quantity price_cents].map { |name| lines.map { |line| line[name] } })
      insert into order_line (order_id, line, product_id, quantity, price_cents)
      select $1, row_number() over (), * from unnest($2::int[], $3::int[], $4::int[])
    SQL
    whole(row, lines)
  end

  # In one statement: between two, a deletion would leave an order without lines.
  def find(id)
    rows = Database.query(<<~SQL, id)
      select o.*, l.product_id, l.quantity, l.price_cents
      from orders o join order_line l on l.order_id = o.id where o.id = $1 order by l.line
    SQL
    whole(rows.first, rows) if rows.any?
  end

  def list(customer, after, limit)
    # One more than asked for tells whether there is a next page.
    rows = Database.query(<<~SQL, customer, after, limit + 1)
      select * from orders where customer_id = $1::bigint and id > $2 order by id limit $3
    SQL
    items = rows.first(limit).map { |row| item(row) }
    { items: items, next: rows.length > limit ? items.last[:id] : nil }
  end

  # Nobody else changes it until the end of the transaction.
  def lock(id)
    Database.query("select status, version from orders where id = $1 for update", id).first
  end

  def set_status(id, status)
    Database.query("update orders set status = $2, version = version + 1 where id = $1", id, status)
  end

  def delete(id)
    Database.query("delete from orders where id = $1", id)
  end

  def item(row)
    {
      id: row["id"], customerId: row["customer_id"], status: row["status"], note: row["note"],
      totalCents: row["total_cents"], version: row["version"], createdAt: row["created_at"].iso8601(6)
    }
  end

  def whole(row, lines)
    item(row).merge(
      lines: lines.map do |line|
        { productId: line["product_id"], quantity: line["quantity"], priceCents: line["price_cents"] }
      end
    )
  end
end
