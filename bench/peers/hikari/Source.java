// SPDX-License-Identifier: MIT
// A whole HikariDataSource by the rules of rules/Lend.java, over connections that lead nowhere: what is measured is getConnection
// and close. Size fixed as HikariCP advises, nothing expires. What lies behind the proxy that it lends is found by unwrap, which
// the compiler makes one comparison of classes; the connection is a class of its own, because close calls a method of it each time.
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.Proxy;
import java.sql.*;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executor;
import javax.sql.DataSource;

final class Source extends Lend<Connection> {
    private final List<Stub> made = Collections.synchronizedList(new ArrayList<>());
    private HikariDataSource source;

    @Override Item[] make(int size) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setDataSource((DataSource) Proxy.newProxyInstance(Source.class.getClassLoader(), new Class<?>[] {DataSource.class},
            (self, method, words) -> switch (method.getName()) {
                case "getConnection" -> connect();
                case "getLoginTimeout", "hashCode" -> 0;
                default -> null;
            }));
        config.setMaximumPoolSize(size);
        config.setConnectionTimeout(PATIENCE_MS);
        config.setMaxLifetime(0);
        config.setIdleTimeout(0);
        source = new HikariDataSource(config);
        while (source.getHikariPoolMXBean().getIdleConnections() < size) Thread.sleep(1 + size / 100);
        return made.toArray(new Item[0]);
    }

    private Stub connect() {
        Stub stub = new Stub();
        made.add(stub);
        return stub;
    }

    @Override Connection take() throws SQLException { return source.getConnection(); }

    @Override Item item(Connection lease) {
        try {
            return lease.unwrap(Stub.class);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override void give(Connection lease) throws SQLException { lease.close(); }
    @Override void close() { source.close(); }

    public static void main(String[] words) { Lending.main(words, Source::new); }

    private static final class Stub extends Item implements Connection {
        // What the pool calls.
        private boolean closed;

        public boolean isValid(int seconds) { return true; }
        public void clearWarnings() { }
        public void setAutoCommit(boolean on) { }
        public boolean getAutoCommit() { return true; }
        public boolean isReadOnly() { return false; }
        public void setReadOnly(boolean on) { }
        public int getTransactionIsolation() { return TRANSACTION_READ_COMMITTED; }
        public int getNetworkTimeout() { return 0; }
        public void setNetworkTimeout(Executor executor, int ms) { }
        public void close() { closed = true; }
        public boolean isClosed() { return closed; }
        public void abort(Executor executor) { closed = true; }

        // What nobody calls.
        public <T> T unwrap(Class<T> type) { return type.cast(this); }
        public boolean isWrapperFor(Class<?> type) { return type.isInstance(this); }
        public void commit() { }
        public void rollback() { }
        public void rollback(Savepoint point) { }
        public Savepoint setSavepoint() { return null; }
        public Savepoint setSavepoint(String name) { return null; }
        public void releaseSavepoint(Savepoint point) { }
        public Statement createStatement() { return null; }
        public Statement createStatement(int type, int concurrency) { return null; }
        public Statement createStatement(int type, int concurrency, int holdability) { return null; }
        public PreparedStatement prepareStatement(String sql) { return null; }
        public PreparedStatement prepareStatement(String sql, int keys) { return null; }
        public PreparedStatement prepareStatement(String sql, int[] columns) { return null; }
        public PreparedStatement prepareStatement(String sql, String[] columns) { return null; }
        public PreparedStatement prepareStatement(String sql, int type, int concurrency) { return null; }
        public PreparedStatement prepareStatement(String sql, int type, int concurrency, int holdability) { return null; }
        public CallableStatement prepareCall(String sql) { return null; }
        public CallableStatement prepareCall(String sql, int type, int concurrency) { return null; }
        public CallableStatement prepareCall(String sql, int type, int concurrency, int holdability) { return null; }
        public String nativeSQL(String sql) { return sql; }
        public DatabaseMetaData getMetaData() { return null; }
        public SQLWarning getWarnings() { return null; }
        public void setCatalog(String catalog) { }
        public String getCatalog() { return null; }
        public void setSchema(String schema) { }
        public String getSchema() { return null; }
        public void setTransactionIsolation(int level) { }
        public void setHoldability(int holdability) { }
        public int getHoldability() { return 0; }
        public void setTypeMap(Map<String, Class<?>> map) { }
        public Map<String, Class<?>> getTypeMap() { return null; }
        public void setClientInfo(String name, String value) { }
        public void setClientInfo(Properties properties) { }
        public String getClientInfo(String name) { return null; }
        public Properties getClientInfo() { return null; }
        public Clob createClob() { return null; }
        public Blob createBlob() { return null; }
        public NClob createNClob() { return null; }
        public SQLXML createSQLXML() { return null; }
        public Array createArrayOf(String type, Object[] elements) { return null; }
        public Struct createStruct(String type, Object[] attributes) { return null; }
    }
}
