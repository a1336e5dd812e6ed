/* SPDX-License-Identifier: MIT */
/*
 * The line: src/pool/waiters.c, and what pending.c and places.c do with it.
 * Included by handoff.pml.
 *
 * In the C code what one thread owes another may lead to the next: a pumping
 * thread opens an object for a pending take, makes it idle, and pumps again.
 * Here a thread has one `duty` at a time, and works until none is left; `more`
 * is a pump that it owes besides, `ends` an object that it then closes.
 */

/* ---- Telling, under the lock ------------------------------------------------------------ */

/* One store of ctl. */
inline take_out(w)
{
    if
    :: IS_FIRST(w) -> heir = heir && PLANT_ROLE_STAYS; ready = false
    :: else
    fi;
    line??eval(w);
    in_line = in_line & ~(1 << w)
}

/* An exchange of the waiter's state. Whoever slept is to be woken. */
inline tell(w, what)
{
    if
    :: PENDING(w) -> call = w
    :: !PENDING(w) && told[w] == PARKED && wake == NONE -> wake = w
    :: !PENDING(w) && told[w] == PARKED && wake != NONE -> assert(wake_too == NONE); wake_too = w
    :: !PENDING(w) && told[w] != PARKED
    fi;
    told[w] = what
}

inline drop_lock()
{
    turn = DONE;
    first = NONE;
    locked = false
}

/* ---- The pump, which drops the lock ---------------------------------------------------------- */

/* What it reads is written under the lock only. */
inline choose()
{
    if
    :: len(line) == 0 || closed || surplus -> drop_lock()
    :: len(line) > 0 && !closed && !surplus && (call != NONE || wake_too != NONE) -> more = true; drop_lock() /* no room */
    :: len(line) > 0 && !closed && !surplus && call == NONE && wake_too == NONE ->
        line?<first>;
        if
        :: ready -> turn = SERVE
        :: !ready && (PENDING(first) || STRICT) -> turn = MARK
        :: !ready && !PENDING(first) && !STRICT && !heir -> turn = (openable > 0 -> CALL : LOOK)
        :: !ready && !PENDING(first) && !STRICT && heir -> drop_lock()
        fi
    fi
}

inline serve()
{
    if
    :: PLANT_GRANT_WITHOUT_RECHECK && which != NONE ->
        atomic { slot[which] = HELD; begin_lease(which, first); got = which; which = NONE }
    :: else -> look_for(first, got)
    fi;
    if
    :: got == NONE && turn == SERVE && OPENS ->
        atomic {
            if
            :: openable > 0 && !PENDING(first) -> claim(got); gives_place = true; is_served(first) /* it opens the object itself */
            :: openable > 0 && PENDING(first) && opening_for_pending < len(line) && duty != JOIN ->
                claim(opens);
                opening_for_pending++;
                more = true
            :: else
            fi
        }
    :: else
    fi;
    if
    :: got == NONE -> atomic { more = more || PLANT_TENDS_FOR_EVER; drop_lock() }
    :: got != NONE ->
        atomic {
            take_out(first);
            granted[first] = got;
            granted_place[first] = gives_place;
            got = NONE;
            gives_place = false
        };
        atomic {
            tell(first, GRANTED);
            if
            :: PLANT_HAND_OVER_FORGETS_CALL && turn == HAND -> call = NONE
            :: else
            fi;
            turn = CHOOSE
        }
    fi
}

inline look_whether_any()
{
    do
    :: at < SLOTS ->
        atomic {
            if
            :: slot[at] == IDLE -> turn = CALL; at = SLOTS
            :: slot[at] != IDLE -> at++
            fi
        }
    :: at >= SLOTS -> break
    od;
    at = 0;
    if
    :: turn == CALL
    :: turn != CALL -> atomic { drop_lock() }
    fi
}

inline pump()
{
    do
    :: turn == DONE -> break
    :: turn == CHOOSE -> atomic { choose() }
    :: turn == MARK -> atomic { ready = true; turn = SERVE } /* before the look */
    :: turn == SERVE || turn == HAND -> serve()
    :: turn == LOOK -> look_whether_any()
    :: turn == CALL -> atomic { heir = true; ready = false; turn = TELL }
    :: turn == TELL -> atomic { tell(first, CALLED); drop_lock() }
    od
}

/* ---- Duties without a pump ------------------------------------------------------------------------ */

/* The look at ctl after slot `which` was made idle. Where a pump is owed already, all else is left to that. */
inline heed()
{
    atomic {
        if
        :: duty == HEED && (closed || surplus) -> duty = RETIRE
        :: duty == HEED_AGAIN || (!closed && !surplus) ->
            if
            :: more || len(line) == 0 || PLANT_GIVE_TELLS_NOBODY -> duty = NOTHING
            :: !more && len(line) > 0 && (ready || !heir) && !PLANT_GIVE_TELLS_NOBODY -> duty = TEND
            :: !more && len(line) > 0 && !ready && heir -> duty = NOTHING
            :: !more && len(line) > 0 && !ready && heir && !PLANT_GIVE_TELLS_NOBODY -> duty = HAND_OVER /* it is due */
            fi;
            gave = 0;
            if
            :: PLANT_GRANT_WITHOUT_RECHECK && duty == TEND
            :: else -> which = NONE
            fi
        fi
    }
}

/* Takes slot `which` out of use if it is still as it was given. */
inline retire()
{
    atomic {
        !locked ->
        if
        :: (closed || surplus) && slot[which] == IDLE && generation[which] == gave ->
            slot[which] = CLOSING;
            locked = true;
            duty = END
        :: else -> duty = HEED_AGAIN
        fi
    };
    if
    :: duty == END -> atomic { leaves(); locked = false }
    :: duty == HEED_AGAIN
    fi
}

/* Those who wait are served before the driver's close, which may take its time. */
inline end_object()
{
    atomic {
        assert(ends_too == NONE);
        ends_too = ends;
        ends = which;
        which = NONE;
        duty = (len(line) > 0 && !PLANT_SURPLUS_ENDS_IN_SILENCE -> TEND : NOTHING)
    }
}

/* ---- Duties with a pump. They begin by taking the lock --------------------------------------------- */

inline leave()
{
    atomic {
        !locked ->
        left = IN_LINE(me);
        if
        :: IS_FIRST(me) && !PLANT_EXPIRED_FIRST_KEEPS_ROLE -> locked = true; turn = CHOOSE
        :: else
        fi;
        if
        :: left && !(PLANT_CANCEL_STAYS_IN_LINE && PENDING(me)) -> take_out(me)
        :: else
        fi
    }
}

/* `left` says that it could not. The first `looks`; behind a pending take, for which others open, it `glances` at what
 * is there for itself; in strict order the pump is its second look, and opens nothing for others. */
inline join()
{
    atomic {
        !locked ->
        left = closed;
        if
        :: closed
        :: !closed ->
            is_behind(me);
            in_line = (STRICT -> in_line | (1 << me) : 0);
            looks = len(line) == 0 && !PENDING(me) && !STRICT;
            heir = heir || looks;
            line!me;
            line?<first>;
            glances = PENDING(first) && !PENDING(me) && !STRICT;
            first = NONE;
            if
            :: STRICT && !PENDING(me) -> locked = true; turn = CHOOSE
            :: else
            fi
        fi
    }
}

/* It does not ask whether the first is still the one it saw, and does not wait for the lock. */
inline hand_over()
{
    atomic {
        if
        :: !locked && len(line) > 0 && !closed && !surplus -> locked = true; line?<first>; turn = HAND
        :: else
        fi
    }
}

inline vacate()
{
    atomic { !locked -> locked = true; make_empty() };
    atomic { surplus = SURPLUS; turn = CHOOSE };
    if
    :: atomic { true -> ready = ready || (heir && !STRICT) } /* it has been called for longer than its bound: hurry */
    :: true
    fi;
    if
    :: PLANT_VACATE_TELLS_NOBODY -> atomic { drop_lock() }
    :: else
    fi
}

/* An object could not be opened: the first hears of it, if it is a pending one. A pump is owed already. */
inline fail()
{
    atomic {
        !locked ->
        locked = true;
        opening_for_pending--;
        if
        :: len(line) > 0 -> line?<first>
        :: len(line) == 0
        fi;
        if
        :: first != NONE && PENDING(first) -> take_out(first)
        :: else -> first = NONE
        fi
    };
    if
    :: first != NONE -> atomic { tell(first, SENT_AWAY) }
    :: first == NONE
    fi;
    atomic { make_empty() };
    atomic { surplus = SURPLUS; drop_lock() }
}

inline set_max()
{
    atomic {
        !locked ->
        if
        :: closed
        :: !closed -> locked = true; max = which; openable = OPENABLE; turn = CHOOSE
        fi;
        which = NONE
    };
    if
    :: turn == DONE
    :: turn == CHOOSE ->
        atomic {
            surplus = SURPLUS;
            if
            :: PLANT_RESIZE_TELLS_NOBODY -> drop_lock()
            :: else
            fi
        }
    fi
}

/* ---- After the lock was dropped ------------------------------------------------------------------- */

inline make_call()
{
    if
    :: wake != NONE -> atomic { asleep[wake] = asleep[wake] && PLANT_GRANT_WITHOUT_WAKE; wake = NONE }
    :: wake == NONE
    fi;
    if
    :: wake_too != NONE -> atomic { asleep[wake_too] = asleep[wake_too] && PLANT_GRANT_WITHOUT_WAKE; wake_too = NONE }
    :: wake_too == NONE
    fi;
    if
    :: call != NONE -> atomic { deliver(call); call = NONE }
    :: call == NONE
    fi;
    if
    :: opens == NONE
    :: opens != NONE ->
        if
        :: closed -> duty = FAIL; which = opens
        :: !closed -> /* the driver's open */
            if
            :: atomic { !locked -> opening_for_pending-- };
                atomic { make_idle(opens) }
            :: FAILS -> duty = FAIL; which = opens
            :: HANGS -> goto gone
            fi
        fi;
        opens = NONE
    fi
}

/* Does its duty, and what comes of that, until nothing is left to do. */
inline work()
{
    do
    :: duty == NOTHING && !more && ends == NONE -> break
    :: duty == NOTHING && more -> more = false; duty = TEND
    :: duty == NOTHING && !more && ends != NONE -> which = ends; ends = ends_too; ends_too = NONE; duty = VACATE
    :: duty == NOTHING && !more && ends != NONE && HANGS -> goto gone
    :: duty == FIND || duty == FIND_IDLE -> find()
    :: duty == HEED || duty == HEED_AGAIN -> heed()
    :: duty == RETIRE -> retire()
    :: duty == LEAVES -> atomic { !locked -> leaves() }
    :: duty == END -> end_object()
    :: else ->
        if
        :: duty == TEND -> atomic { !locked -> locked = true; choose() }
        :: duty == HAND_OVER -> hand_over()
        :: duty == LEAVE -> leave()
        :: duty == JOIN -> join()
        :: duty == VACATE -> vacate()
        :: duty == FAIL -> fail()
        :: duty == SET_MAX -> set_max()
        fi;
        pump();
        duty = NOTHING;
        make_call()
    od
}
