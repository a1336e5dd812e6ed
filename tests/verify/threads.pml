/* SPDX-License-Identifier: MIT */
/*
 * Those who use the line: threads that take, wait, hold and give (take.c,
 * wait.c), pending takes (pending.c), the closer (close.c) and whoever sets
 * another max (resize.c). Included by handoff.pml.
 *
 * A thread does what it owes; then its phase says what comes next.
 */

mtype:stage = { TAKING, TOOK, JOINED, GLANCED, LOOKED, LOOKED_AGAIN, PARKING, EXPIRED, LEFT, SETTLED, EXTRA, HAVING, HOLDING, OUT,
                ASKED, TOLD, MARKING, SWEEPING, AWAITING, TAKING_AWAY, SETTING, TRIMMING };

/* ---- The end of a lease ------------------------------------------------------------------------- */

/* Gives slot `s`, which is the caller's, even if close has taken the object away. */
inline give(s)
{
    if
    :: slot[s] == HELD -> end_lease(s, me); make_idle(s)
    :: slot[s] == REVOKING -> end_lease(s, me); slot[s] = RETURNED
    :: slot[s] == REVOKED -> end_lease(s, me); close_object(s)
    fi;
    s = NONE
}

inline close_object(s)
{
    slot[s] = CLOSING;
    which = s;
    duty = LEAVES
}

inline end_of_lease()
{
    if
    :: atomic { give(found) }
    :: atomic { DISCARDS && slot[found] == HELD -> end_lease(found, me); close_object(found); found = NONE }
    :: atomic { KEEPS -> goto gone }
    fi
}

/* ---- A thread that takes, or holds from the beginning --------------------------------------------- */

inline take_granted()
{
    found = granted[me];
    place = granted_place[me];
    phase = HAVING
}

/* Sleeps on its state until it is told something, or its deadline has passed. */
inline park()
{
    atomic {
        if
        :: told[me] == AWAKE -> told[me] = PARKED
        :: told[me] != AWAKE
        fi
    };
    do
    :: atomic { told[me] != PARKED -> break }
    :: atomic { told[me] == PARKED -> asleep[me] = true };
end_asleep:
        if
        :: !asleep[me]
        :: atomic { hasty -> asleep[me] = false; break }
        fi
    od;
    atomic {
        if
        :: told[me] == PARKED || (told[me] == CALLED && hasty) ->
            told[me] = AWAKE;
            phase = (STRICT -> LEFT : EXPIRED);
            duty = (STRICT -> LEAVE : FIND_IDLE)
        :: told[me] == CALLED -> told[me] = AWAKE; phase = LOOKED; duty = FIND
        :: told[me] == GRANTED -> take_granted()
        :: told[me] == SENT_AWAY -> phase = OUT
        fi
    }
}

/* The driver's open, in the place that it has claimed. */
inline open_claimed()
{
    if
    :: closed -> duty = VACATE; which = found; found = NONE
    :: !closed ->
        if
        :: atomic {
                !locked ->
                if
                :: !closed -> slot[found] = HELD; generation[found]++; begin_lease(found, me)
                :: closed -> slot[found] = CLOSING; which = found; found = NONE; leaves()
                fi
            }
        :: FAILS -> duty = VACATE; which = found; found = NONE
        :: HANGS -> goto gone
        fi
    fi;
    place = false
}

proctype Thread(byte me; bool hasty)
{
    OWN;
    mtype:stage phase = TAKING;
    bool again = true;
    if
    :: me < HOLDERS -> found = me; phase = HOLDING
    :: me >= HOLDERS
    fi;
    do
    :: duty != NOTHING -> work()
    :: duty == NOTHING && phase == TAKING ->
        atomic {
            is_behind(me);
            if
            :: closed -> phase = OUT
            :: !closed && STRICT && len(line) > 0 && !PLANT_STRICT_IS_OVERTAKEN -> phase = JOINED; duty = JOIN
            :: else -> phase = TOOK; duty = FIND
            fi
        }
    :: duty == NOTHING && phase == TOOK ->
        phase = (found != NONE -> HAVING : JOINED);
        duty = (found != NONE -> NOTHING : JOIN)
    :: duty == NOTHING && phase == JOINED ->
        if
        :: left -> phase = OUT
        :: !left && looks && !PLANT_JOIN_AFTER_LOOK -> phase = LOOKED; duty = FIND
        :: !left && looks && PLANT_JOIN_AFTER_LOOK -> phase = LOOKED
        :: !left && !looks && glances && !PLANT_JOIN_BEHIND_PENDING -> phase = GLANCED; duty = FIND
        :: !left && !looks && (!glances || PLANT_JOIN_BEHIND_PENDING) -> phase = PARKING
        fi;
        left = false;
        looks = false;
        glances = false
    :: duty == NOTHING && phase == LOOKED ->
        if
        :: found != NONE -> phase = SETTLED; duty = LEAVE
        :: found == NONE ->
            atomic { !locked -> left = IN_LINE(me); ready = ready || left };
            if
            :: left && !PLANT_READY_WITHOUT_LOOK && !PLANT_JOIN_AFTER_LOOK -> phase = LOOKED_AGAIN; duty = FIND
            :: else -> phase = PARKING
            fi;
            left = false
        fi
    :: duty == NOTHING && (phase == LOOKED_AGAIN || phase == GLANCED) ->
        phase = (found != NONE -> SETTLED : PARKING);
        duty = (found != NONE -> LEAVE : NOTHING)
    :: duty == NOTHING && phase == PARKING -> park()
    :: duty == NOTHING && phase == EXPIRED -> /* what came first wins */
        phase = (found != NONE -> SETTLED : LEFT);
        duty = LEAVE
    :: duty == NOTHING && phase == LEFT ->
        atomic {
            if
            :: left -> assert(told[me] != GRANTED); phase = OUT
            :: !left && told[me] == GRANTED -> take_granted()
            :: !left && told[me] == SENT_AWAY -> phase = OUT
            fi;
            left = false
        }
    :: duty == NOTHING && phase == SETTLED -> /* it found something itself ... */
        if
        :: left -> phase = HAVING
        :: !left && place -> phase = EXTRA; place = false; which = found; found = NONE; duty = VACATE
        :: !left && !place && !PLANT_EXTRA_GRANT_KEPT && !PLANT_EXTRA_LOST_WHEN_REVOKED -> phase = EXTRA; atomic { give(found) }
        :: !left && !place && PLANT_EXTRA_GRANT_KEPT -> phase = EXTRA
        :: !left && !place && PLANT_EXTRA_LOST_WHEN_REVOKED ->
            phase = EXTRA;
            atomic {
                if
                :: slot[found] == HELD -> give(found)
                :: else -> end_lease(found, me); found = NONE
                fi
            }
        fi;
        left = false
    :: duty == NOTHING && phase == EXTRA -> /* ... and was told something meanwhile: that counts */
        atomic {
            if
            :: told[me] == GRANTED -> take_granted()
            :: told[me] == SENT_AWAY -> phase = OUT
            fi
        }
    :: duty == NOTHING && phase == HAVING ->
        atomic { told[me] = AWAKE; granted[me] = NONE; granted_place[me] = false };
        if
        :: place -> open_claimed()
        :: !place
        fi;
        phase = (found != NONE -> HOLDING : OUT)
    :: duty == NOTHING && phase == HOLDING -> end_of_lease(); phase = OUT
    :: duty == NOTHING && phase == OUT ->
        if
        :: AGAIN && again && me < HOLDERS -> again = false; phase = TAKING
        :: else -> break
        fi
    od;
    has_nothing(me);
gone:
    skip
}

/* ---- A pending take ------------------------------------------------------------------------------------ */

proctype Asker(byte me; bool fickle)
{
    OWN;
    mtype:stage phase = JOINED;
    duty = JOIN;
    do
    :: duty != NOTHING -> work()
    :: duty == NOTHING && phase == JOINED ->
        phase = (left -> OUT : ASKED);
        duty = (left -> NOTHING : TEND);
        left = false
    :: duty == NOTHING && phase == ASKED ->
end_asked:
        if
        :: delivered[me] -> phase = TOLD
        :: fickle -> phase = LEFT; duty = LEAVE
        fi
    :: duty == NOTHING && phase == LEFT ->
        if
        :: left -> atomic { left = false; cancelled[me] = true; phase = OUT }
        :: !left -> phase = ASKED; fickle = false /* too late: it is about to hear */
        fi
    :: duty == NOTHING && phase == TOLD ->
        atomic {
            if
            :: told[me] == GRANTED -> found = granted[me]; granted[me] = NONE; phase = HOLDING
            :: told[me] == SENT_AWAY -> phase = OUT
            fi
        }
    :: duty == NOTHING && phase == HOLDING -> end_of_lease(); phase = OUT
    :: duty == NOTHING && phase == OUT -> break
    od;
    has_nothing(me);
gone:
    skip
}

/* ---- Whoever closes the pool, or sets another max ----------------------------------------------------------- */

inline send_away()
{
    do
    :: atomic { !locked && (len(line) == 0 || PLANT_CLOSE_LEAVES_WAITERS) -> break }
    :: atomic { !locked && len(line) > 0 && !PLANT_CLOSE_LEAVES_WAITERS -> locked = true; line?<first>; take_out(first) };
        atomic { tell(first, SENT_AWAY); drop_lock() };
        make_call()
    od
}

/* If slot `found` is idle, it is one to retire. */
inline look_at_slot()
{
    atomic {
        gave = generation[found];
        looks = slot[found] == HELD;
        if
        :: slot[found] == IDLE -> which = found; duty = RETIRE
        :: else
        fi
    }
}

/* The holder may come back while the driver's interrupt runs, between the two steps. */
inline revoke()
{
    atomic {
        if
        :: slot[found] == HELD && generation[found] == gave -> slot[found] = REVOKING
        :: else -> looks = false
        fi
    };
    if
    :: !looks
    :: looks ->
        atomic {
            if
            :: slot[found] == REVOKING -> slot[found] = REVOKED
            :: slot[found] == RETURNED -> close_object(found)
            fi
        }
    fi;
    looks = false;
    gave = 0
}

/* From the highest slot down, while there are too many. */
inline trim()
{
    atomic {
        !locked ->
        if
        :: found == 0 || !surplus -> found = 0; phase = SETTING
        :: else ->
            found--;
            if
            :: slot[found] == IDLE -> slot[found] = CLOSING; locked = true; which = found
            :: slot[found] != IDLE
            fi
        fi
    };
    if
    :: which != NONE -> atomic { leaves(); locked = false }
    :: which == NONE
    fi
}

proctype Keeper(mtype:stage phase; byte to)
{
    byte me = NONE;
    OWN;
    found = 0;
    do
    :: duty != NOTHING -> work()
    :: duty == NOTHING && phase == MARKING ->
        atomic { !locked -> locked = true; closed = true };
        atomic { openable = 0; drop_lock() };
        send_away();
        phase = (PLANT_SWEEP_BEFORE_MARK -> AWAITING : SWEEPING)
    :: duty == NOTHING && phase == SWEEPING ->
        if
        :: found < SLOTS -> look_at_slot(); looks = false; gave = (duty == RETIRE -> gave : 0); found++
        :: found >= SLOTS -> found = 0; phase = (closed -> AWAITING : MARKING)
        fi
    :: duty == NOTHING && phase == AWAITING ->
end_awaits:
        if
        :: atomic { !locked && live == 0 -> is_over = true; phase = OUT }
        :: atomic { REVOKES && !locked && live > 0 -> phase = TAKING_AWAY }
        fi
    :: duty == NOTHING && phase == TAKING_AWAY -> /* each slot until it is neither idle nor held */
        if
        :: found < SLOTS ->
            look_at_slot();
            if
            :: looks -> revoke()
            :: !looks && duty == NOTHING -> found++; gave = 0
            :: !looks && duty != NOTHING
            fi
        :: found >= SLOTS -> atomic { is_over = true; phase = OUT }
        fi
    :: duty == NOTHING && phase == SETTING ->
        if
        :: to > 0 -> which = to; to = (to == RESIZE -> RESIZE_AGAIN : 0); found = SLOTS; phase = TRIMMING; duty = SET_MAX
        :: to == 0 -> phase = OUT
        fi
    :: duty == NOTHING && phase == TRIMMING -> trim()
    :: duty == NOTHING && phase == OUT -> break
    od;
gone:
    skip
}
