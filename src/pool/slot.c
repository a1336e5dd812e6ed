/* SPDX-License-Identifier: MIT */
/*
 * Changes of a slot's word outside the quick path.
 *
 * Order table
 * [S1] move | cas on the word | seq_cst | every other change of the word; T4 in give.c | the object, to the slot's next owner; that it is idle, before the wait queue is read | the next holder reads half an object; a waiter sleeps although an object is idle
 * [S2] word | load of the word | seq_cst | S1, I4 in idle.c, T3 in give.c; L1 in waiters.c | the slot's state, after CLOSED or SURPLUS was set | a sweep reads an old word, and an object given before the mark stays idle forever
 */
#include "pool/slot.h"

uint64_t ceni_slot_word(ceni_slot *slot)
{
    return ceni_load_seq_cst(&slot->word); /* [S2] */
}

static bool move(ceni_slot *slot, uint64_t generation, ceni_slot_state from, ceni_slot_state to, bool marked_too)
{
    uint64_t word = ceni_slot_word(slot);
    while (ceni_word_generation(word) == generation && ceni_word_state(word) == from &&
           (marked_too || !(word & CENI_MARKED))) {
        uint64_t moved = ceni_word(generation, (unsigned)to | (word & CENI_LISTED));
        if (ceni_cas_seq_cst(&slot->word, &word, moved)) return true; /* [S1] */
    }
    return false;
}

bool ceni_slot_move(ceni_slot *slot, uint64_t generation, ceni_slot_state from, ceni_slot_state to)
{
    return move(slot, generation, from, to, true);
}

bool ceni_slot_move_unmarked(ceni_slot *slot, uint64_t generation, ceni_slot_state from, ceni_slot_state to)
{
    return move(slot, generation, from, to, false);
}

bool ceni_slot_mark(ceni_slot *slot, uint64_t generation, ceni_slot_state state)
{
    uint64_t word = ceni_slot_word(slot);
    while (ceni_word_generation(word) == generation && ceni_word_state(word) == state) {
        if (word & CENI_MARKED) return true;
        if (ceni_cas_seq_cst(&slot->word, &word, word | CENI_MARKED)) return true; /* [S1] */
    }
    return false;
}
