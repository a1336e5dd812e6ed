// SPDX-License-Identifier: MIT
// Apache Commons Pool's GenericObjectPool by the rules of rules/Lend.java: a fixed size, filled before the run. Everything else
// is as it comes: last in, first out; no fairness; no tests of what is lent.
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

final class Commons extends Lend<Lend.Item> {
    private static final class Factory extends BasePooledObjectFactory<Item> {
        final List<Item> made = new ArrayList<>(); // by the thread that fills the pool

        @Override public Item create() {
            Item item = new Item();
            made.add(item);
            return item;
        }

        @Override public PooledObject<Item> wrap(Item item) { return new DefaultPooledObject<>(item); }
    }

    private GenericObjectPool<Item> pool;

    @Override Item[] make(int size) throws Exception {
        GenericObjectPoolConfig<Item> config = new GenericObjectPoolConfig<>();
        Factory factory = new Factory();
        config.setMaxTotal(size);
        config.setMaxIdle(size);
        config.setMinIdle(size);
        config.setBlockWhenExhausted(true);
        config.setMaxWait(Duration.ofMillis(PATIENCE_MS));
        pool = new GenericObjectPool<>(factory, config);
        pool.addObjects(size);
        return factory.made.toArray(new Item[0]);
    }

    @Override Item take() throws Exception { return pool.borrowObject(); }
    @Override Item item(Item item) { return item; }
    @Override void give(Item item) { pool.returnObject(item); }
    @Override void close() { pool.close(); }

    public static void main(String[] words) { Lending.main(words, Commons::new); }
}
