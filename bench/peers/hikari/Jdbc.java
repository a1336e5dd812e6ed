// SPDX-License-Identifier: MIT
// HikariCP with PostgreSQL's JDBC driver, by the rules of rules/Ends.java. A statement is prepared for each question, as Java
// programs do; the driver keeps it, and from the fifth time on the server too. HikariCP has nothing for Redis.
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

final class Jdbc extends Ends<Connection> {
    private HikariDataSource source;

    @Override void open(String host, int port, int connections, boolean limits) throws InterruptedException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://" + host + ":" + port + "/test");
        config.setUsername("tester");
        config.setPassword("secret");
        config.setMaximumPoolSize(connections);
        if (limits) limit(config);
        source = new HikariDataSource(config);
        while (source.getHikariPoolMXBean().getIdleConnections() < connections) Thread.sleep(1);
    }

    /** HikariCP's documentation asks for the driver's socketTimeout and tcpKeepAlive, and for validations shorter than waits. */
    private static void limit(HikariConfig config) {
        config.setConnectionTimeout(1000);
        config.setValidationTimeout(500);
        config.setInitializationFailTimeout(10000); // for the first one, whose classes are to be loaded, 1 s can be short
        config.addDataSourceProperty("loginTimeout", "1");
        config.addDataSourceProperty("connectTimeout", "1");
        config.addDataSourceProperty("socketTimeout", "2");
        config.addDataSourceProperty("cancelSignalTimeout", "1");
        config.addDataSourceProperty("tcpKeepAlive", "true");
    }

    @Override Connection take() throws SQLException { return source.getConnection(); }

    @Override int ask(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("select 1"); ResultSet result = statement.executeQuery()) {
            return result.next() ? result.getInt(1) : 0;
        }
    }

    @Override void give(Connection connection) throws SQLException { connection.close(); }

    public static void main(String[] words) { main(words, "pq", new Jdbc()); }
}
