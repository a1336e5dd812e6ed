/* SPDX-License-Identifier: MIT */
/*
 * Slots: src/pool/idle.c as far as those who wait notice, and the counts of
 * places.c; and what every thread has of its own. Included by handoff.pml.
 */

mtype:task = { NOTHING, FIND, FIND_IDLE, HEED, HEED_AGAIN, RETIRE, LEAVES, END,
               TEND, HAND_OVER, LEAVE, JOIN, VACATE, FAIL, SET_MAX };
mtype:step = { DONE, CHOOSE, MARK, SERVE, HAND, LOOK, CALL, TELL };

/* What a thread has of its own. */
#define OWN \
    mtype:task duty = NOTHING; \
    byte which = NONE, gave;           /* the slot that it is about, and which lease of it was given */ \
    mtype:step turn = DONE;            /* where in the pump it is */ \
    byte first = NONE, got = NONE, at, seen; \
    bool left, looks, glances, more, gives_place; \
    byte ends = NONE, ends_too = NONE; \
    byte wake = NONE, wake_too = NONE, call = NONE, opens = NONE; /* to do when the lock is dropped */ \
    byte found = NONE;                 /* the slot it has ... */ \
    bool place                         /* ... which is one for an object yet to be opened */

/* ---- Counting, under the lock ------------------------------------------------------------ */

#define OPENABLE (!OPENS || closed || live >= max -> 0 : max - live)
#define SURPLUS (live - (PLANT_SURPLUS_FORGETS_LEAVING -> 0 : leaving) > max)

/* Nobody else looks at the slot before there is an object. */
inline claim(result)
{
    result = 0;
    do
    :: slot[result] == EMPTY -> break
    :: else -> result++
    od;
    slot[result] = OPENING;
    live++;
    assert(live <= max); /* L2 */
    openable = OPENABLE
}

inline make_empty()
{
    leaving = leaving - (slot[which] == CLOSING);
    slot[which] = EMPTY;
    which = NONE;
    live--;
    openable = OPENABLE
}

/* An object is on its way out, which may end a surplus. */
inline leaves()
{
    leaving++;
    surplus = SURPLUS;
    gave = 0;
    duty = END
}

/* ---- Slots -------------------------------------------------------------------------------- */

/* One after the other: a load of the word and, if it is idle, a cas. */
inline look_for(who, result)
{
    do
    :: at < SLOTS ->
        atomic {
            if
            :: slot[at] == IDLE -> seen = generation[at]
            :: slot[at] != IDLE -> seen = NONE
            fi
        };
        if
        :: seen == NONE -> at++; seen = 0
        :: seen != NONE ->
            atomic {
                if
                :: slot[at] == IDLE && generation[at] == seen ->
                    slot[at] = HELD;
                    generation[at]++;
                    begin_lease(at, who);
                    result = at;
                    at = SLOTS
                :: else -> at++
                fi;
                seen = 0
            }
        fi
    :: at >= SLOTS -> break
    od;
    at = 0
}

/* An idle object, or a place for a new one. */
inline find()
{
    look_for(me, found);
    if
    :: found != NONE || !OPENS || duty == FIND_IDLE
    :: found == NONE && OPENS && duty == FIND ->
        if
        :: openable == 0
        :: openable > 0 ->
            atomic {
                !locked ->
                if
                :: openable > 0 || PLANT_OPEN_BEYOND_MAX -> claim(found); place = true; is_served(me)
                :: else
                fi
            }
        fi
    fi;
    duty = NOTHING
}

inline make_idle(s)
{
    slot[s] = IDLE;
    which = s;
    gave = generation[s];
    duty = HEED
}
