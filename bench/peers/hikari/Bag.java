// SPDX-License-Identifier: MIT
// HikariCP's ConcurrentBag, the heart of that pool without its connections, by the rules of rules/Lend.java. What is lent is the
// bag's entry, whose state is set as HikariCP's own entry sets it.
import com.zaxxer.hikari.util.ConcurrentBag;
import com.zaxxer.hikari.util.ConcurrentBag.IConcurrentBagEntry;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

final class Bag extends Lend<Bag.Entry> {
    static final class Entry extends Item implements IConcurrentBagEntry {
        private static final AtomicIntegerFieldUpdater<Middle> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Middle.class, "state");

        public boolean compareAndSet(int expect, int update) { return STATE.compareAndSet(this, expect, update); }
        public void setState(int update) { state = update; }
        public int getState() { return state; }
    }

    private final ConcurrentBag<Entry> bag = new ConcurrentBag<>(waiting -> { });

    @Override Item[] make(int size) {
        Item[] items = new Item[size];
        for (int i = 0; i < size; i++) {
            Entry entry = new Entry();
            items[i] = entry;
            bag.add(entry);
        }
        return items;
    }

    @Override Entry take() throws InterruptedException {
        Entry entry = bag.borrow(PATIENCE_MS, TimeUnit.MILLISECONDS);
        if (entry == null) fail("a take waited too long");
        return entry;
    }

    @Override Item item(Entry entry) { return entry; }
    @Override void give(Entry entry) { bag.requite(entry); }
    @Override void close() { bag.close(); }

    public static void main(String[] words) { Lending.main(words, Bag::new); }
}
