import CFFmpeg
public import PCastMedia

/// Takes apart a piece of a presentation that comes as bytes, of a format that is known. Used by one thread at a time.
///
/// Times are of the container's own clock, as they stand there.
public final class SegmentDemuxer: @unchecked Sendable {  // owned by one thread at a time
    /// By libavformat's names.
    public enum Container: String, Hashable, Sendable {
        case mpegTS = "mpegts"
        /// Behind its initialization.
        case fragmentedMP4 = "mp4"
        case adts = "aac"
        case mp3
        case ac3
        case enhancedAC3 = "eac3"

        /// After how long the clock of a container begins anew; nil for never.
        public var wrap: TimeSpan? {
            // 33 bits at 90 kHz (ISO/IEC 13818-1, section 2.4.3.7).
            self == .mpegTS ? .microseconds((1 << 33) * 100 / 9) : nil
        }

        /// By the first bytes of a segment, behind an ID3 tag; nil for what is none of these.
        public init?(sniffing bytes: [UInt8]) {
            guard bytes.count >= 8 else { return nil }
            if bytes[0] == 0x47, bytes.count <= 188 || bytes[188] == 0x47 {
                self = .mpegTS
            } else if bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 {
                self = .adts
            } else if bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 {
                self = .mp3
            } else if bytes[0] == 0x0B, bytes[1] == 0x77 {
                self = bytes[5] >> 3 > 10 ? .enhancedAC3 : .ac3
            } else if ["ftyp", "styp", "moof", "moov", "sidx", "emsg", "prft"].contains(
                String(decoding: bytes[4..<8], as: UTF8.self))
            {
                self = .fragmentedMP4
            } else {
                return nil
            }
        }

        /// The first place in bytes at which a transport stream or ADTS begins, told by its frames following one another: three
        /// packets of 188 bytes, or two frames of ADTS.
        public static func find(in bytes: [UInt8]) -> (container: Container, offset: Int)? {
            var offset = 0
            while offset + 8 <= bytes.count {
                defer { offset += 1 }
                if bytes[offset] == 0x47, offset + 188 < bytes.count,
                    stride(from: offset, to: min(bytes.count, offset + 3 * 188), by: 188).allSatisfy({
                        bytes[$0] == 0x47
                    })
                {
                    return (.mpegTS, offset)
                }
                if let next = adtsFrame(bytes, offset), adtsFrame(bytes, next) != nil { return (.adts, offset) }
            }
            return nil
        }

        /// The end of a frame (ISO/IEC 13818-7, section 6.2.1); nil for what is none.
        private static func adtsFrame(_ bytes: [UInt8], _ offset: Int) -> Int? {
            guard offset + 7 <= bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] & 0xF6 == 0xF0 else { return nil }
            let size = Int(bytes[offset + 3] & 3) << 11 | Int(bytes[offset + 4]) << 3 | Int(bytes[offset + 5] >> 5)
            return size > 7 ? offset + size : nil
        }
    }

    private let input: MediaInput
    private let deadline: ReadingDeadline
    private var codings: [Int32: CodedFormat] = [:]

    /// Waits for the container's header.
    ///
    /// - Throws: `CodecError.damaged`.
    public init(_ bytes: any MediaBytes, container: Container) throws(CodecError) {
        AVLog.quiet()
        // Who gives the bytes says how long they are waited for.
        deadline = ReadingDeadline(patience: .seconds(86_400))
        do throws(MediaInputFailure) {
            input = try MediaInput(bytes: bytes, format: container.rawValue, deadline: deadline)
        } catch {
            throw .damaged("a segment of \(container.rawValue): \(error.reason)")
        }
    }

    /// What there is to be decoded, as far as it was read.
    public var media: Set<PresentationMedium> {
        Set(input.streams.compactMap { PresentationTrack($0)?.medium })
    }

    /// The next packet of one track of each medium, the first that can be decoded; nil at the end.
    ///
    /// - Throws: `CodecError.damaged` where it broke off.
    public func read() throws(CodecError) -> CodedPacket? {
        while true {
            let isThere: Bool
            do throws(MediaInputFailure) { isThere = try input.read() } catch {
                throw .damaged("a segment: \(error.reason)")
            }
            guard isThere else { return nil }
            let packet = input.packet.pointer
            guard let (stream, coding) = coding(packet.pointee.stream_index) else {
                av_packet_unref(packet)
                continue
            }
            packet.place(from: stream.pointee.time_base, by: 0)
            return CodedPacket(taking: packet, coding)
        }
    }

    /// Whether a stream belongs to the program that is played: the first one with pictures, or else the first. A segment has
    /// one program (RFC 8216, section 3.2), but not everybody keeps to that.
    private func isOfProgram(_ index: Int32) -> Bool {
        let programs = input.programs
        guard programs.count > 1, programs.contains(where: { $0.contains(index) }) else { return true }
        let streams = input.streams
        let withPictures = programs.first { program in
            program.contains { stream in
                Int(stream) < streams.count && PresentationTrack(streams[Int(stream)])?.medium == .picture
            }
        }
        return (withPictures ?? programs[0]).contains(index)
    }

    private func coding(_ index: Int32) -> (UnsafeMutablePointer<AVStream>, CodedFormat)? {
        let streams = input.streams
        guard index >= 0, Int(index) < streams.count else { return nil }
        let stream = streams[Int(index)]
        if let coding = codings[index] { return (stream, coding) }
        guard PresentationTrack(stream) != nil, isOfProgram(index), let coding = CodedFormat(stream),
            !codings.values.contains(where: { $0.medium == coding.medium })
        else { return nil }
        codings[index] = coding
        return (stream, coding)
    }
}
