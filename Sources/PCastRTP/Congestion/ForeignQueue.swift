import PCastMedia

/// Whether the queue that stands on the path is someone else's.
///
/// What goes down by delay alone gives way to a download until nothing is left (RFC 8836, section 2, asks for a share).
/// A queue of our own is gone when we send less than arrives; one that stands for seconds though we have gone down, and
/// does not become shorter, is kept full by another, and then loss tells how much is ours, as it tells the other (the
/// same thought as in Copa's competitive mode; Arun and Balakrishnan, 2018).
struct ForeignQueue: Sendable {
    /// A queue that ever gets shorter than this is nobody's.
    static let least = TimeSpan.milliseconds(15)
    static let patience = stretch * 3
    private static let stretch = TimeSpan.milliseconds(700)
    /// After this the other may be gone, and the queue ours.
    static let recheck = TimeSpan.seconds(Int64(30))
    /// What we have given up by then, of the rate when the queue came.
    private static let share = 0.75
    /// Of a report's time: half of it is forgotten in a minute.
    private static let memory = 0.999
    private static let maximumLoss = 0.1

    private(set) var isForeign = false
    private var since: Instant?
    private var rateBefore = 0.0
    /// The most that we had of the path, as far as it can be remembered.
    private var peak = 0.0

    /// Half of what we had alone: more is not ours while another is there.
    var fairRate: Double { peak / 2 }

    /// The least delays of the running stretch and of the two before.
    private var minima = (TimeSpan.zero, TimeSpan.zero, TimeSpan.zero)
    private var turned: Instant?

    /// - Parameters:
    ///   - delay: the shortest wait of the packets of a report.
    ///   - rate: what we may send, in any unit.
    ///   - loss: 0...1, beyond what the path loses anyway.
    mutating func update(delay: TimeSpan, rate: Double, loss: Double, at now: Instant) {
        guard delay >= Self.least else {
            isForeign = false
            since = nil
            peak = max(peak * Self.memory, rate)
            return
        }
        guard let since, let turned else { return begin(delay: delay, rate: rate, at: now) }
        if isForeign, now - since >= Self.recheck {
            isForeign = false
            return begin(delay: delay, rate: rate, at: now)
        }
        if now - turned >= Self.stretch {
            minima = (delay, minima.0, minima.1)
            self.turned = now
        } else {
            minima.0 = min(minima.0, delay)
        }
        guard !isForeign, now - since >= Self.patience else { return }
        let stays = minima.1 * 10 >= minima.2 * 7
        if stays, rate <= Self.share * rateBefore, loss < Self.maximumLoss {
            isForeign = true
            self.since = now
        }
    }

    private mutating func begin(delay: TimeSpan, rate: Double, at now: Instant) {
        since = now
        turned = now
        peak = max(peak, rate)
        rateBefore = rate
        minima = (delay, delay, delay)
    }
}
