package import PCastCore

/// The conditions of one direction of a link, applied to each packet in this order: size, queue, rate, loss,
/// duplication, delay.
package struct LinkConditions: Hashable, Sendable {
    /// The delay between the end of the queue and arrival.
    package var delay: TimeSpan
    /// The maximum of the random delay that is added, which is evenly distributed.
    package var jitter: TimeSpan
    /// Whether the jitter may reorder packets. Otherwise a late packet delays those after it.
    package var reorders: Bool
    /// The model of packet loss.
    package var loss: Loss
    /// The rate of packets that arrive twice, from 0 to 1.
    package var duplication: Double
    /// The bit rate of the link; nil for a link without a queue.
    package var rate: Bitrate?
    /// The limit of the queue.
    package var queue: QueueLimit
    /// The periodic stall of the link; nil if there is none.
    package var stall: Stall?
    /// Whether sent packets are dropped. Packets that are queued or in flight still arrive.
    package var isDown: Bool
    /// The maximum size of a packet in bytes including its IP header. Larger ones are dropped without a message. Nil
    /// for no limit.
    package var maximumPacketSize: Int?

    /// Creates conditions. The default values describe a perfect link.
    package init(
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

    /// A link without loss, delay and limits.
    package static let perfect = LinkConditions()
}
