import CFFmpeg
package import PCastCore

/// Demultiplexes a segment of a known format. Only one thread may use it at a time.
///
/// Times are those of the container's clock, without an adjustment.
package final class SegmentDemuxer: @unchecked Sendable {  // owned by one thread at a time
    /// A container format, with libavformat's name.
    package enum Container: String, Hashable, Sendable {
        case mpegTS = "mpegts"
        /// Fragmented MP4 after its initialization segment.
        case fragmentedMP4 = "mp4"
        case adts = "aac"
        case mp3
        case ac3
        case enhancedAC3 = "eac3"

        /// The period after which the container's clock wraps around; nil for never.
        package var wrap: TimeSpan? {
            // 33 bits at 90 kHz (ISO/IEC 13818-1, section 2.4.3.7).
            self == .mpegTS ? .microseconds((1 << 33) * 100 / 9) : nil
        }

        /// Detects the format from the first bytes of a segment after an ID3 tag. Returns nil for other formats.
        package init?(sniffing bytes: [UInt8]) {
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

        /// Returns the first offset at which MPEG-TS or ADTS starts: three consecutive packets of 188 bytes, or two
        /// consecutive ADTS frames. Returns nil if there is none.
        package static func find(in bytes: [UInt8]) -> (container: Container, offset: Int)? {
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

        /// Returns the end of an ADTS frame (ISO/IEC 13818-7, section 6.2.1); nil if there is no frame.
        private static func adtsFrame(_ bytes: [UInt8], _ offset: Int) -> Int? {
            guard offset + 7 <= bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] & 0xF6 == 0xF0 else { return nil }
            let size = Int(bytes[offset + 3] & 3) << 11 | Int(bytes[offset + 4]) << 3 | Int(bytes[offset + 5] >> 5)
            return size > 7 ? offset + size : nil
        }
    }

    private let input: MediaInput
    private let deadline: ReadingDeadline
    private var codings: [Int32: CodedFormat] = [:]
    private let container: Container
    /// The decryption of samples; nil if they are not encrypted.
    private let decryption: SampleDecryption?
    /// The types of streams in a transport stream whose samples are encrypted: H.264 and AAC.
    private static let encryptedTypes: Set<UInt32> = [0xDB, 0xCF]
    /// The types of encrypted streams that cannot be decrypted: AC-3 and Enhanced AC-3.
    private static let unsupportedTypes: Set<UInt32> = [0xC1, 0xC2]
    /// The types of H.264 and AAC that is not encrypted. Some encoders also use them for encrypted streams.
    private static let plainTypes: Set<UInt32> = [0x1B, 0x0F]

    /// Reads the container's header.
    ///
    /// - Parameters:
    ///   - bytes: The source of the bytes.
    ///   - container: The format.
    ///   - decryption: The decryption of samples; nil if they are not encrypted. In a transport stream, H.264 and AAC
    ///     are decrypted: the streams with types of encrypted streams, or all if no stream has such a type. Other
    ///     encrypted streams have no packets.
    /// - Throws: `CodecError.damaged` if the header is invalid.
    package init(
        _ bytes: any MediaBytes, container: Container, decryption: SampleDecryption? = nil
    ) throws(CodecError) {
        AVLog.quiet()
        (self.container, self.decryption) = (container, decryption)
        // The byte source has its own timeout, so this one is a day.
        deadline = ReadingDeadline(timeout: .seconds(86_400))
        do throws(MediaInputFailure) {
            let key = container == .fragmentedMP4 ? decryption?.key : nil
            input = try MediaInput(bytes: bytes, format: container.rawValue, key: key, deadline: deadline)
        } catch {
            throw .damaged("a segment of \(container.rawValue): \(error.reason)")
        }
    }

    /// The media that can be decoded, as far as the segment was read.
    package var media: Set<PresentationMedium> {
        Set(input.streams.compactMap { isReadable($0) ? PresentationTrack($0)?.medium : nil })
    }

    /// Returns whether the samples of a stream are not encrypted, or can be decrypted.
    private func isReadable(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        switch container {
        case .mpegTS:
            let type = stream.pointee.codecpar?.pointee.codec_tag ?? 0
            return !Self.unsupportedTypes.contains(type) && (decryption != nil || !Self.encryptedTypes.contains(type))
        case .fragmentedMP4, .adts: return true
        case .mp3, .ac3, .enhancedAC3: return decryption == nil
        }
    }

    /// Returns whether the samples of a stream are encrypted, in a segment with a key.
    private func isEncrypted(_ stream: AVCodecParameters) -> Bool {
        switch container {
        case .adts: return true
        case .mpegTS:
            if Self.encryptedTypes.contains(stream.codec_tag) { return true }
            guard Self.plainTypes.contains(stream.codec_tag) else { return false }
            let types = input.streams.map { $0.pointee.codecpar?.pointee.codec_tag ?? 0 }
            return types.allSatisfy { !Self.encryptedTypes.contains($0) && !Self.unsupportedTypes.contains($0) }
        case .fragmentedMP4, .mp3, .ac3, .enhancedAC3: return false
        }
    }

    /// Returns the next packet of the first decodable track of each medium; nil at the end. Throws `CodecError.damaged`
    /// if the segment ended too early.
    package func read() throws(CodecError) -> CodedPacket? {
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
            decrypt(packet, of: stream)
            packet.rescale(from: stream.pointee.time_base, by: 0)
            return CodedPacket(taking: packet, coding)
        }
    }

    /// Decrypts a packet of a transport stream or of packed audio.
    private func decrypt(_ packet: UnsafeMutablePointer<AVPacket>, of stream: UnsafeMutablePointer<AVStream>) {
        guard let decryption, let parameters = stream.pointee.codecpar, packet.pointee.size > 0,
            isEncrypted(parameters.pointee), av_packet_make_writable(packet) >= 0, let data = packet.pointee.data
        else { return }
        let bytes = Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
        let plain =
            parameters.pointee.codec_id == AV_CODEC_ID_H264
            ? decryption.decryptedH264(bytes) : decryption.decryptedADTS(bytes)
        plain.withUnsafeBufferPointer { plain in
            if let first = plain.baseAddress { data.update(from: first, count: min(plain.count, bytes.count)) }
        }
        av_shrink_packet(packet, Int32(plain.count))
    }

    /// Returns whether a stream belongs to the program that is played: the first one with video, or else the first one.
    /// A segment has one program (RFC 8216, section 3.2), but some contain several.
    private func isOfProgram(_ index: Int32) -> Bool {
        let programs = input.programs
        guard programs.count > 1, programs.contains(where: { $0.contains(index) }) else { return true }
        let streams = input.streams
        let withVideo = programs.first { program in
            program.contains { stream in
                Int(stream) < streams.count && PresentationTrack(streams[Int(stream)])?.medium == .video
            }
        }
        return (withVideo ?? programs[0]).contains(index)
    }

    private func coding(_ index: Int32) -> (UnsafeMutablePointer<AVStream>, CodedFormat)? {
        let streams = input.streams
        guard index >= 0, Int(index) < streams.count else { return nil }
        let stream = streams[Int(index)]
        if let coding = codings[index] { return (stream, coding) }
        guard PresentationTrack(stream) != nil, isReadable(stream), isOfProgram(index),
            let coding = CodedFormat(stream),
            !codings.values.contains(where: { $0.medium == coding.medium })
        else { return nil }
        codings[index] = coding
        return (stream, coding)
    }
}
