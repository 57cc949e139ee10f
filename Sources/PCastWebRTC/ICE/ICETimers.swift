import PCastMedia

/// The times of a controlling agent.
enum ICETimers {
    /// Between checks of different pairs. RFC 8445, section 14.2, says 50 ms as a default and 5 ms at least.
    static let pacing = TimeSpan.milliseconds(20)

    /// Before a check is sent a second time; doubled after each, up to `longestTimeout`.
    ///
    /// RFC 8445, section 14.3, has 500 ms for the public at large; a join must not wait so long for one lost packet.
    static let firstTimeout = TimeSpan.milliseconds(100)

    /// The longest time between two sendings of one check over UDP, unless the way is longer.
    static let longestTimeout = TimeSpan.milliseconds(800)

    /// How often a check is sent, before the pair has failed: for 12.7 s.
    static let maximumTries = 18

    /// How often one of the selected pair is sent, before another is begun.
    static let maximumConsentTries = 4

    /// After so many unanswered tries the other pairs are checked too.
    static let suspectTries = 3

    /// Between checks over a connection, which loses nothing (RFC 6544, section 7.1).
    static let streamTimeout = TimeSpan.seconds(2 as Int64)

    /// Between checks of the selected pair, give or take a fifth (RFC 7675, section 5.1). Chrome's number (ICE3).
    static let keepalive = TimeSpan.milliseconds(2500)

    /// Of silence, before the selected pair is checked out of turn.
    static let silence = TimeSpan.milliseconds(300)

    /// How long datagrams are tried before connections are tried beside them: about as long as the first address of a
    /// host gets before the second (RFC 8305, section 8, has 250 ms), with room for a way around the world.
    static let fallback = TimeSpan.milliseconds(500)

    /// How long a call is tried.
    static let setup = TimeSpan.seconds(15 as Int64)
}
