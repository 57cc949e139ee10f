import PCastMedia
import PCastWebRTC

/// What one viewer received of one track: whether all of it came, in order and in time.
struct PacketWitness: Sendable {
    /// Packets by their own numbers, and not again.
    private(set) var packets = 0
    /// Numbers that were not there when a later one came.
    private(set) var missing = 0
    /// Packets that came behind a later one, or twice.
    private(set) var overtaken = 0
    /// Packets that came again, by RTX: repairs, and probes of what the link carries.
    private(set) var repeated = 0
    /// Frames whose last packet came; of sound each packet is one.
    private(set) var frames = 0
    /// Frames that were captured before the one that they follow.
    private(set) var backwards = 0
    /// From one frame's capture to the next one's, at most.
    private(set) var longestStep = TimeSpan.zero
    /// How long after its capture a frame's last packet came.
    private(set) var lags = LagHistogram()

    private let type: MediaType
    private let rate: ClockRate
    private var newest: (sequence: Int64, timestamp: UInt32)?

    init(_ type: MediaType, rate: ClockRate) {
        self.type = type
        self.rate = rate
    }

    /// Counts from zero, and goes on where the stream is.
    mutating func begin() {
        let newest = newest
        self = PacketWitness(type, rate: rate)
        self.newest = newest
    }

    /// - Parameters:
    ///   - captureTime: of the packet's timestamp, by this machine's clock; nil while that is not known.
    ///   - arrival: by the same clock.
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
            overtaken += 1
            return
        }
        missing += Int(step - 1)
        // Padding has a number, and nothing that was captured.
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
