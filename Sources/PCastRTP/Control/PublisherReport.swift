public import PCastCore

/// A publisher's report about itself, so that media which it withholds deliberately is not attributed to the network.
/// It is an application-defined RTCP packet named `PCPR` (RFC 3550, section 6.7).
///
/// After the name it has a byte of flags (1: video withheld, 2: audio withheld, 4: video dropped by congestion
/// control) and three zero bytes. Two 32-bit bit rates in kilobits per second follow: the wanted rate and the bandwidth
/// estimate, 0 if unknown. It is sent with each sender report.
public struct PublisherReport: Hashable, Sendable {
    /// Whether the publisher sends no video deliberately, e.g. because the track is muted or the camera is closed.
    public var isVideoWithheld: Bool
    /// Whether the publisher sends no audio deliberately.
    public var isAudioWithheld: Bool
    /// Whether the publisher sends no video because its congestion control leaves no bandwidth for it.
    public var isVideoCut: Bool
    /// The bit rate that would be sent if bandwidth were unlimited, all tracks together including headers; nil if
    /// unknown.
    public var wanted: Bitrate?
    /// The estimated bandwidth of the uplink; nil if unknown.
    public var estimate: Bitrate?

    /// The name of the packet in ASCII.
    static let name: UInt32 = 0x50_43_50_52
    /// The size of the data after the name in bytes.
    static let size = 12

    /// Creates a report.
    public init(
        isVideoWithheld: Bool = false, isAudioWithheld: Bool = false, isVideoCut: Bool = false,
        wanted: Bitrate? = nil, estimate: Bitrate? = nil
    ) {
        self.isVideoWithheld = isVideoWithheld
        self.isAudioWithheld = isAudioWithheld
        self.isVideoCut = isVideoCut
        self.wanted = wanted
        self.estimate = estimate
    }

    /// Parses the body of an application-defined packet. Returns nil if it has another name.
    init?(in datagram: Span<UInt8>, body: Range<Int>) {
        guard body.count >= 8 + Self.size, datagram.bigEndian32(at: body.lowerBound + 4) == Self.name else {
            return nil
        }
        let offset = body.lowerBound + 8
        let flags = datagram[offset]
        isVideoWithheld = flags & 1 != 0
        isAudioWithheld = flags & 2 != 0
        isVideoCut = flags & 4 != 0
        wanted = Self.bitrate(datagram.bigEndian32(at: offset + 4))
        estimate = Self.bitrate(datagram.bigEndian32(at: offset + 8))
    }

    /// Returns a bit rate; nil for 0.
    private static func bitrate(_ kilobits: UInt32) -> Bitrate? { kilobits == 0 ? nil : .kilobits(Int64(kilobits)) }
}

extension RTCPWriter {
    /// Writes the report of a publisher (24 bytes).
    package mutating func publisherReport(ssrc: UInt32, _ report: PublisherReport) {
        let body = begin(type: RTCPPacket.PacketType.application, count: 0, size: 8 + PublisherReport.size)
        buffer.storeBigEndian(ssrc, at: body)
        buffer.storeBigEndian(PublisherReport.name, at: body + 4)
        let flags: UInt8 =
            (report.isVideoWithheld ? 1 : 0) | (report.isAudioWithheld ? 2 : 0) | (report.isVideoCut ? 4 : 0)
        buffer.storeBigEndian(UInt32(flags) << 24, at: body + 8)
        buffer.storeBigEndian(Self.kilobits(report.wanted), at: body + 12)
        buffer.storeBigEndian(Self.kilobits(report.estimate), at: body + 16)
    }

    /// Returns a bit rate in kilobits per second; 0 for nil.
    private static func kilobits(_ bitrate: Bitrate?) -> UInt32 {
        UInt32(min(max((bitrate?.bitsPerSecond ?? 0) / 1_000, 0), Int64(UInt32.max)))
    }
}
