public import PCastMedia

/// How one direction of a link treats what passes, in the order in which it does: size, queue, rate, loss, duplication,
/// delay.
public struct LinkConditions: Hashable, Sendable {
    /// From leaving the queue to arriving.
    public var delay: TimeSpan
    /// Up to this much is added to the delay, evenly spread.
    public var jitter: TimeSpan
    /// Whether packets may overtake each other by the jitter; otherwise a late one holds up those behind it.
    public var reorders: Bool
    public var loss: Loss
    /// The share of packets that arrive twice, 0 to 1.
    public var duplication: Double
    /// Nil for a link on which nothing ever waits.
    public var rate: Bitrate?
    public var queue: QueueLimit
    public var stall: Stall?
    /// Nothing that is sent arrives; what waits or is on its way still does.
    public var isDown: Bool
    /// The largest packet that passes, in bytes with its IP header; larger ones vanish without a word. Nil for any.
    public var maximumPacketSize: Int?

    public init(
        delay: TimeSpan = .zero, jitter: TimeSpan = .zero, reorders: Bool = true, loss: Loss = .none,
        duplication: Double = 0, rate: Bitrate? = nil, queue: QueueLimit = .span(.milliseconds(200)),
        stall: Stall? = nil, isDown: Bool = false, maximumPacketSize: Int? = nil
    ) {
        self.delay = delay
        self.jitter = jitter
        self.reorders = reorders
        self.loss = loss
        self.duplication = duplication
        self.rate = rate
        self.queue = queue
        self.stall = stall
        self.isDown = isDown
        self.maximumPacketSize = maximumPacketSize
    }

    /// Loses, delays and limits nothing.
    public static let perfect = LinkConditions()
}
