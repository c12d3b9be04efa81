# frozen_string_literal: true

require "io/wait"
require "pg"

# A connection for each thread, which is opened when it is first used and after it broke.
module Database
  # A query, its parameters, and rows whose values have the types of Ruby.
  def self.query(sql, *values)
    connection.exec_params(sql, values).to_a
  end

  def self.transaction(&block)
    connection.transaction { block.call }
  end

  def self.connection
    open = Thread.current.thread_variable_get(:database)
    return open if open && usable?(open)

    Thread.current.thread_variable_set(:database, nil)
    open&.finish
    Thread.current.thread_variable_set(:database, connect)
  end

  # PostgreSQL says nothing of itself but that it ends.
  def self.usable?(connection)
    connection.status == PG::CONNECTION_OK &&
      (connection.transaction_status != PG::PQTRANS_IDLE || connection.socket_io.wait_readable(0).nil?)
  end

  def self.connect
    connection = PG.connect(ENV.fetch("DATABASE_URL"))
    connection.type_map_for_results = PG::BasicTypeMapForResults.new(connection)
    connection.type_map_for_queries = PG::BasicTypeMapForQueries.new(connection)
    connection
  end
  private_class_method :connection, :usable?, :connect
end
