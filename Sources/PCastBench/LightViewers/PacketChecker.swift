import PCastCore
import PCastWebRTC

/// Checks whether the packets of one track arrive completely, in order and in time at one viewer.
struct PacketChecker: Sendable {
    /// Packets that arrived with their own sequence number, without retransmissions.
    private(set) var packets = 0
    /// Sequence numbers that had not arrived when a later one did.
    private(set) var missing = 0
    /// Packets that arrived after a later one, or twice.
    private(set) var reordered = 0
    /// Packets that arrived by RTX: retransmissions and bandwidth probes.
    private(set) var repeated = 0
    /// Frames whose last packet arrived; each audio packet is a frame.
    private(set) var frames = 0
    /// Frames with an earlier capture time than their predecessor.
    private(set) var backwards = 0
    /// The longest time between the captures of successive frames.
    private(set) var longestStep = TimeSpan.zero
    /// The time from a frame's capture to the arrival of its last packet.
    private(set) var lags = LagHistogram()

    private let type: MediaType
    private let rate: ClockRate
    private var newest: (sequence: Int64, timestamp: UInt32)?

    init(_ type: MediaType, rate: ClockRate) {
        self.type = type
        self.rate = rate
    }

    /// Resets the statistics; the position in the stream is kept.
    mutating func begin() {
        let newest = newest
        self = PacketChecker(type, rate: rate)
        self.newest = newest
    }

    /// Counts a packet. `captureTime` is the capture time of its timestamp by this machine's clock, nil while it is
    /// unknown; `arrival` is by the same clock.
    mutating func received(_ packet: MediaReceiver.Packet, captureTime: WallTime?, arrival: WallTime) {
        guard !packet.isRetransmission else {
            repeated += 1
            return
        }
        packets += 1
        guard let newest else {
            self.newest = (packet.sequence, packet.timestamp)
            return
        }
        let step = packet.sequence - newest.sequence
        guard step > 0 else {
            reordered += 1
            return
        }
        missing += Int(step - 1)
        // A padding packet has a sequence number, but no frame.
        guard !packet.payload.isEmpty else {
            self.newest?.sequence = packet.sequence
            return
        }
        let ticks = Int32(bitPattern: packet.timestamp &- newest.timestamp)
        if ticks < 0 { backwards += 1 }
        longestStep = max(longestStep, rate.span(ofTicks: Int64(ticks)))
        self.newest = (packet.sequence, packet.timestamp)
        guard packet.marker || type == .audio else { return }
        frames += 1
        if let captureTime { lags.add(arrival - captureTime) }
    }
}
