# frozen_string_literal: true

require "io/wait"
require "pg"

# One connection per thread, opened on first use and after a failure.
module Database
  # Executes a query with parameters; values in the rows have Ruby types.
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

  # PostgreSQL sends unsolicited data only when it closes the connection.
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
