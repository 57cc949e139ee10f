import PCastCore
import PCastRTP

/// Records the header size and the total size of each video packet of a viewer, as one line for each frame;
/// `scripts/fanout-limit.c` reads them.
final class PacketTap {
    private let limit: Int
    private(set) var frames: [[(header: Int, size: Int)]] = []
    private var current: [(header: Int, size: Int)] = []
    private var hasBegun = false

    /// Creates a tap that records the given number of complete frames.
    init(frames limit: Int) { self.limit = limit }

    var isFull: Bool { frames.count >= limit }

    /// Records a datagram if its SSRC is `source`, the video's; retransmissions and bandwidth probes use another.
    func take(_ datagram: UnsafeRawBufferPointer, of source: UInt32?) {
        guard !isFull, let header = RTPHeader.parseProtected(Span(_unsafeBytes: datagram)), header.ssrc == source
        else { return }
        if hasBegun { current.append((header.headerSize, datagram.count)) }
        guard header.marker else { return }
        if hasBegun { frames.append(current) }
        hasBegun = true
        current = []
    }

    var text: String {
        frames.map { $0.map { "\($0.header):\($0.size)" }.joined(separator: " ") + "\n" }.joined()
    }

    /// The mean size of a datagram in bytes.
    var meanSize: Double {
        let sizes = frames.joined().map(\.size)
        return Double(sizes.reduce(0, +)) / Double(max(1, sizes.count))
    }
}
