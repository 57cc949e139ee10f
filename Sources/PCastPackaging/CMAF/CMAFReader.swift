package import PCastCore

/// Finds boxes in the files of the packager (ISO/IEC 14496-12, section 4.2). Malformed bytes have no boxes.
struct BoxReader {
    private let bytes: ArraySlice<UInt8>

    /// Creates a reader of the boxes in some bytes.
    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Returns the contents of the first box of a type, without its size and type; nil if there is none.
    func contents(of type: String) -> ArraySlice<UInt8>? {
        var rest = bytes
        while rest.count >= 8 {
            let size = Int(Self.number(rest, 0, 4))
            guard size >= 8, size <= rest.count else { return nil }
            let end = rest.startIndex + size
            if Self.isEqual(rest[rest.startIndex + 4..<rest.startIndex + 8], type) {
                return rest[rest.startIndex + 8..<end]
            }
            rest = rest[end...]
        }
        return nil
    }

    /// Returns the contents of a box in nested boxes; nil if there is none.
    func contents(of path: [String]) -> ArraySlice<UInt8>? {
        path.reduce(Optional(bytes)) { parent, type in parent.flatMap { BoxReader($0).contents(of: type) } }
    }

    /// Returns a number in network byte order. The bytes must exist.
    static func number(_ bytes: ArraySlice<UInt8>, _ offset: Int, _ count: Int) -> UInt64 {
        let start = bytes.startIndex + offset
        return bytes[start..<start + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    static func isEqual(_ bytes: ArraySlice<UInt8>, _ type: String) -> Bool {
        bytes.elementsEqual(type.utf8)
    }
}

/// The description of a fragment of the packager: everything except the data of its samples.
package struct CMAFFragmentDescription: Hashable, Sendable {
    /// A sample without its data.
    package struct Sample: Hashable, Sendable {
        /// The number of bytes.
        package let size: UInt32
        /// The duration in ticks of the track's clock.
        package let duration: UInt32
        /// The presentation time minus the decoding time, in ticks.
        package let compositionOffset: Int32
        /// Whether decoding can start with the sample.
        package let isSync: Bool
    }

    /// The decoding time of the first sample in ticks of the track's clock, at most 2^52.
    package let decodeTime: Int64
    /// The samples in decoding order, at least one.
    package let samples: [Sample]
    /// The offset of the data in the fragment.
    package let dataOffset: Int
    /// The bytes of the data, which end with the fragment.
    package let dataSize: Int

    /// The largest decoding time.
    private static let maximumTime: UInt64 = 1 << 52
    /// Flags of a run as ``CMAFFragment`` writes it, without and with composition offsets.
    private static let runFlags: (plain: UInt64, withOffsets: UInt64) = (0x0100_0701, 0x0100_0F01)
    private static let nonSyncFlag: UInt64 = 0x0001_0000

    /// Returns the bytes at the beginning of a fragment that describe it: the movie fragment box and the header of the
    /// media data box. Nil if the fragment, of which there must be eight bytes, does not begin with such a box.
    package static func headSize(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 8, BoxReader.isEqual(bytes[4..<8], "moof") else { return nil }
        return Int(BoxReader.number(bytes[...], 0, 4)) + 8
    }

    /// Reads the description of a fragment; nil if the bytes are not those of a fragment of the packager.
    ///
    /// - Parameters:
    ///   - bytes: The beginning of the fragment, of which at least ``headSize(_:)`` bytes are needed.
    ///   - size: The size of the fragment.
    package init?(_ bytes: [UInt8], size: Int) {
        guard let head = Self.headSize(bytes), head <= bytes.count, head <= size,
            BoxReader.number(bytes[...], head - 8, 4) == UInt64(size - head + 8),
            BoxReader.isEqual(bytes[head - 4..<head], "mdat")
        else { return nil }
        let movie = BoxReader(bytes[..<head])
        guard let time = movie.contents(of: ["moof", "traf", "tfdt"]), time.count == 12,
            let run = movie.contents(of: ["moof", "traf", "trun"]), run.count >= 12
        else { return nil }
        let decodeTime = BoxReader.number(time, 4, 8)
        let flags = BoxReader.number(run, 0, 4)
        let count = Int(BoxReader.number(run, 4, 4))
        let hasOffsets = flags == Self.runFlags.withOffsets
        let width = hasOffsets ? 16 : 12
        guard hasOffsets || flags == Self.runFlags.plain, decodeTime <= Self.maximumTime, count > 0,
            count <= (run.count - 12) / width, run.count == 12 + count * width,
            BoxReader.number(run, 8, 4) == UInt64(head)
        else { return nil }
        samples = (0..<count).map { index in
            let offset = 12 + index * width
            let composition = hasOffsets ? UInt32(BoxReader.number(run, offset + 12, 4)) : 0
            return Sample(
                size: UInt32(BoxReader.number(run, offset + 4, 4)),
                duration: UInt32(BoxReader.number(run, offset, 4)),
                compositionOffset: Int32(bitPattern: composition),
                isSync: BoxReader.number(run, offset + 8, 4) & Self.nonSyncFlag == 0)
        }
        guard samples.reduce(0, { $0 + Int($1.size) }) == size - head else { return nil }
        self.decodeTime = Int64(decodeTime)
        dataOffset = head
        dataSize = size - head
    }
}

/// The description of a track in its initialization segment.
package struct CMAFTrackDescription: Hashable, Sendable {
    /// Video or audio.
    package let mediaType: MediaType
    /// The clock of the track.
    package let clockRate: ClockRate
    /// The ticks by which decoding precedes presentation; see ``CMAFFormat/priming``.
    package let priming: Int64
    /// The sample entry: a box with the codec's configuration.
    package let sampleEntry: [UInt8]
    /// The width of the video in pixels; 0 for audio.
    package let width: UInt16
    /// The height of the video in pixels; 0 for audio.
    package let height: UInt16

    /// Reads an initialization segment of the packager; nil if the bytes are something else.
    package init?(initializationSegment bytes: [UInt8]) {
        guard let track = BoxReader(bytes[...]).contents(of: ["moov", "trak"]) else { return nil }
        let boxes = BoxReader(track)
        guard let header = boxes.contents(of: "tkhd"), header.count == 84, let media = boxes.contents(of: "mdia"),
            let mediaHeader = BoxReader(media).contents(of: "mdhd"), mediaHeader.count == 24,
            let handler = BoxReader(media).contents(of: "hdlr"), handler.count >= 12,
            let entries = BoxReader(media).contents(of: ["minf", "stbl", "stsd"]), entries.count > 16,
            BoxReader.number(entries, 4, 4) == 1, BoxReader.number(entries, 8, 4) == UInt64(entries.count - 8)
        else { return nil }
        let type = handler[handler.startIndex + 8..<handler.startIndex + 12]
        guard BoxReader.isEqual(type, "vide") || BoxReader.isEqual(type, "soun") else { return nil }
        mediaType = BoxReader.isEqual(type, "vide") ? .video : .audio
        let rate = Int64(BoxReader.number(mediaHeader, 12, 4))
        guard (1_000...192_000).contains(rate) else { return nil }
        clockRate = ClockRate(hertz: rate)
        var priming: UInt64 = 0
        if let edits = boxes.contents(of: ["edts", "elst"]), edits.count == 28 {
            priming = BoxReader.number(edits, 16, 8)
        }
        guard priming < UInt64(rate) else { return nil }
        self.priming = Int64(priming)
        sampleEntry = Array(entries.dropFirst(8))
        width = UInt16(truncatingIfNeeded: BoxReader.number(header, 76, 4) >> 16)
        height = UInt16(truncatingIfNeeded: BoxReader.number(header, 80, 4) >> 16)
    }
}
