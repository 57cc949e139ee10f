package import PCastCore

/// A part of a segment: one fragment, or the absence of media.
package struct PackagedPart: Hashable, Sendable {
    /// The fragment; empty for a gap.
    package var bytes: [UInt8]
    /// The duration that the playlist states.
    package var duration: TimeSpan
    /// Whether the part contains a frame that can be decoded without others.
    package var isIndependent: Bool

    /// Whether media is absent.
    package var isGap: Bool { bytes.isEmpty }
}

/// The media of a complete segment in a file.
package struct StoredMedia: Sendable {
    /// The number of bytes.
    package let size: Int
    /// Whether the file exists for the window only, so that it is removed with its segments.
    package let belongsToWindow: Bool
    /// Returns the bytes, all of them. It waits for the disk.
    package let read: @Sendable () throws -> [UInt8]

    /// Creates a description.
    package init(size: Int, belongsToWindow: Bool, read: @escaping @Sendable () throws -> [UInt8]) {
        self.size = size
        self.belongsToWindow = belongsToWindow
        self.read = read
    }
}

/// A complete segment whose media are to be stored in a file.
package struct UnstoredSegment: Sendable {
    /// The name of the rendition.
    package let rendition: String
    /// The media sequence number.
    package let number: Int64
    /// The media: one fragment for each part, which is empty for a gap.
    package let fragments: [[UInt8]]

    /// The number of bytes.
    package var size: Int { fragments.reduce(0) { $0 + $1.count } }

    /// Creates a description.
    package init(rendition: String, number: Int64, fragments: [[UInt8]]) {
        self.rendition = rendition
        self.number = number
        self.fragments = fragments
    }
}

/// A segment that is complete, or to which parts are added.
package struct PackagedSegment: Sendable {
    /// The media sequence number.
    package let number: Int64
    /// The media time of its beginning, in ticks; in nanoseconds for captions.
    package let start: Int64
    /// The wall-clock time of its beginning.
    package let wallTime: WallTime
    /// The number of the initialization segment; nil for captions, which need none.
    package let initialization: Int?
    /// The discontinuity sequence number.
    package let discontinuity: Int64
    /// Whether the segment begins with a discontinuity.
    package let isDiscontinuity: Bool
    /// The number of the key; nil if the segment is not encrypted.
    package var key: Int64?
    /// The parts so far.
    package internal(set) var parts: [PackagedPart] = []
    /// The segment if it is not the parts one after the other; empty otherwise.
    var document: [UInt8] = []
    /// The media in a file; nil if they are in memory only.
    var stored: StoredMedia?
    /// Whether the media are in memory.
    private(set) var isInMemory = true

    /// The sum of the durations of the parts.
    package var duration: TimeSpan { parts.reduce(.zero) { $0 + $1.duration } }
    /// The wall-clock time at which the last part ends.
    package var end: WallTime { wallTime + duration }
    /// The number of bytes.
    package var size: Int { isInMemory ? memorySize : stored?.size ?? 0 }
    /// The number of bytes in memory.
    var memorySize: Int { parts.reduce(document.count) { $0 + $1.bytes.count } }
    /// The number of bytes in files of the window.
    var storedSize: Int { stored.map { $0.belongsToWindow ? $0.size : 0 } ?? 0 }
    /// Whether the segment has no media.
    package var isGap: Bool { isInMemory && parts.allSatisfy(\.isGap) }
    /// The number of parts in the playlist. The parts of a segment without media are not listed.
    var listedPartCount: Int { isGap ? 0 : parts.count }
    /// The bytes of the segment: the fragments of all parts, or a document.
    package var bytes: [UInt8] { document.isEmpty ? parts.flatMap(\.bytes) : document }

    /// Removes media that are stored from memory. The parts then have no files any more, and become one.
    mutating func unload() {
        guard isInMemory, stored != nil else { return }
        parts = [PackagedPart(bytes: [], duration: duration, isIndependent: true)]
        isInMemory = false
    }
}

/// The names of the files of a rendition, relative to its playlist.
struct FileNames {
    let instance: String
    let rendition: String
    var isText = false

    private var suffix: String { PackagedFile.suffix(isText: isText) }
    var playlist: String { "\(rendition).m3u8" }
    func segment(_ number: Int64) -> String { "\(rendition)/\(instance)-\(number)\(suffix)" }
    func part(_ number: Int64, _ index: Int) -> String { "\(rendition)/\(instance)-\(number).\(index)\(suffix)" }
    func initialization(_ number: Int) -> String { "\(rendition)/\(instance)-init\(number).mp4" }
    func key(_ number: Int64) -> String { "\(rendition)/\(instance)-key\(number)\(PackagedFile.keySuffix)" }
}

/// A media file of a packager.
package enum PackagedFile: Hashable, Sendable {
    /// An initialization segment.
    case initialization(Int)
    /// A segment by its media sequence number.
    case segment(Int64)
    /// A part by the number of its segment and its index.
    case part(Int64, Int)
    /// A key by its number.
    case key(Int64)

    /// The end of the names of keys.
    package static let keySuffix = ".key"

    /// Returns the end of the names of segments and parts.
    static func suffix(isText: Bool) -> String { isText ? ".vtt" : ".m4s" }

    /// Parses the name of a file without its folder. Returns nil if the name belongs to another instance or to no file.
    /// `isText` is whether the file belongs to the captions.
    package init?(name: String, instance: String, isText: Bool = false) {
        guard name.utf8.count <= 128, name.hasPrefix(instance + "-") else { return nil }
        let rest = name.dropFirst(instance.count + 1)
        if !isText, rest.hasPrefix("init"), rest.hasSuffix(".mp4"),
            let number = Self.number(rest.dropFirst(4).dropLast(4))
        {
            self = .initialization(Int(number))
            return
        }
        if !isText, rest.hasPrefix("key"), rest.hasSuffix(Self.keySuffix),
            let number = Self.number(rest.dropFirst(3).dropLast(Self.keySuffix.count))
        {
            self = .key(number)
            return
        }
        guard rest.hasSuffix(Self.suffix(isText: isText)) else { return nil }
        let fields = rest.dropLast(4).split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(fields.count), let number = Self.number(fields[0]) else { return nil }
        if fields.count == 1 {
            self = .segment(number)
        } else {
            guard let index = Self.number(fields[1]) else { return nil }
            self = .part(number, Int(index))
        }
    }

    /// Parses a decimal number in its shortest form, so that each file has one name.
    private static func number(_ text: Substring) -> Int64? {
        guard text.utf8.count <= 18, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int64(text),
            String(number) == text
        else { return nil }
        return number
    }
}
