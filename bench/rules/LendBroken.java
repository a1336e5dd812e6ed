// SPDX-License-Identifier: MIT
// Planted bugs for the rules in Java: what BENCH_BROKEN makes of any contestant's pool. share: an object is lent a second time,
// by a lease of ours. lose: one is never given back. The class is loaded only then, so the sound ones do not pay for it.
final class LendBroken<L> extends Lend<Object> {
    static final int VICTIM = 100;
    private final Lend<L> sound;
    private final Object second = new Object();
    private Item shared;
    private boolean secondIsLent;
    private int gives;

    LendBroken(Lend<L> sound) { this.sound = sound; }

    @Override Item[] make(int size) throws Exception { return sound.make(size); }
    @Override void close() throws Exception { sound.close(); }

    @Override Object take() throws Exception {
        synchronized (this) {
            if (shared != null && !secondIsLent) {
                secondIsLent = true;
                return second;
            }
        }
        return sound.take();
    }

    @SuppressWarnings("unchecked") @Override Item item(Object lease) {
        return lease == second ? shared : sound.item((L) lease);
    }

    @SuppressWarnings("unchecked") @Override void give(Object lease) throws Exception {
        synchronized (this) {
            if (lease == second) {
                secondIsLent = false;
                return;
            }
            boolean victim = ++gives == VICTIM;
            if (victim && BROKEN.equals("lose")) return;
            if (victim && BROKEN.equals("share")) shared = item(lease);
        }
        sound.give((L) lease);
    }
}
