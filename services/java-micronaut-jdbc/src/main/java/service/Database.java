package service;

import jakarta.inject.Singleton;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** Statements and transactions of JDBC. */
@Singleton
public class Database {
    public interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    public interface Mapper<T> {
        T row(ResultSet row) throws SQLException;
    }

    private final DataSource pool;

    public Database(DataSource pool) {
        this.pool = pool;
    }

    public <T> T connected(Work<T> work) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return work.on(connection);
        }
    }

    public <T> T transaction(Work<T> work) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            try {
                T result = work.on(connection);
                connection.commit();
                return result;
            } catch (SQLException | RuntimeException failure) {
                connection.rollback();
                throw failure;
            }
        }
    }

    public static <T> List<T> query(Connection connection, String sql, Mapper<T> mapper, Object... values)
            throws SQLException {
        try (PreparedStatement statement = prepared(connection, sql, values);
                ResultSet rows = statement.executeQuery()) {
            List<T> found = new ArrayList<>();
            while (rows.next()) {
                found.add(mapper.row(rows));
            }
            return found;
        }
    }

    public static void update(Connection connection, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepared(connection, sql, values)) {
            statement.executeUpdate();
        }
    }

    private static PreparedStatement prepared(Connection connection, String sql, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int index = 0; index < values.length; index++) {
            statement.setObject(index + 1, values[index]);
        }
        return statement;
    }
}
