package import PCastCore
package import PCastRTMP

/// Converts an MPEG transport stream to the media events of a publisher, as an RTMP session reports them.
///
/// It supports H.264 and H.265 with AAC (ADTS) and Opus. Streams with other codecs are reported once and left out. Events are
/// metadata, configurations, access units, ends of tracks, and warnings.
package struct TransportStreamDemuxer: Sendable {
    /// The maximum number of tracks of each kind.
    static let maximumTrackCount = 16
    /// The time without a codec configuration after which its absence is reported.
    private static let longestWait = TimeSpan.seconds(10)
    /// The largest distance of a frame's presentation from its decoding. Beyond it, the presentation time is wrong.
    private static let maximumReordering: Int64 = 10 * 90_000

    private struct Track {
        let stream: ElementaryStream
        let id: RTMPTrackID
        let codec: FourCC
        var h264 = H264AccessUnits()
        var h265 = H265AccessUnits()
        var adts = ADTSFrames()
        var opus = OpusPackets()
        var configuration: RTMPCodecConfiguration?
        /// The decoding time of the first frame without a configuration.
        var waitingSince: TimeSpan?
        var lastDecodingTime: TimeSpan?
    }

    private var reader = TransportStreamReader()
    private var clock = TransportStreamClock()
    private var tracks: [Track] = []
    private var warnings: Set<RTMPWarning> = []
    /// The splice messages that were not taken, at most ``maximumSpliceCount``.
    private var splices: [Splice] = []
    private var lastSplice: [UInt8] = []

    /// A splice message with its time.
    package struct Splice: Hashable, Sendable {
        /// The message.
        package let information: SpliceInformation
        /// The time of the splice, from the origin of the times of access units.
        package let time: TimeSpan
    }

    /// The maximum number of splice messages that wait. Further ones are dropped.
    private static let maximumSpliceCount = 64

    /// The number of frames that were dropped.
    package private(set) var droppedCount = 0

    /// The counters of the transport stream.
    package var statistics: TransportStreamStatistics { reader.statistics }

    /// Creates a demuxer.
    package init() {}

    /// Processes bytes of the stream, in pieces of any size.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - emit: A closure that receives the events.
    package mutating func receive(_ bytes: Span<UInt8>, _ emit: (RTMPServerEvent) -> Void) {
        var outputs: [TransportStreamReader.Output] = []
        reader.receive(bytes) { outputs.append($0) }
        for output in outputs { handle(output, emit) }
    }

    /// Processes the end of the stream, which completes its last frames.
    package mutating func finish(_ emit: (RTMPServerEvent) -> Void) {
        var outputs: [TransportStreamReader.Output] = []
        reader.finish { outputs.append($0) }
        for output in outputs { handle(output, emit) }
    }

    /// Returns the splice messages since the last call. Malformed ones, and repetitions of the last one, are left out, and
    /// those before the first frame.
    package mutating func takeSplices() -> [Splice] {
        guard !splices.isEmpty else { return [] }
        defer { splices = [] }
        return splices
    }

    private mutating func add(splice section: [UInt8]) {
        guard section != lastSplice, splices.count < Self.maximumSpliceCount,
            let information = SpliceInformation(section), let time = clock.time(of: information.time)
        else { return }
        lastSplice = section
        splices.append(Splice(information: information, time: time))
    }

    private mutating func handle(_ output: TransportStreamReader.Output, _ emit: (RTMPServerEvent) -> Void) {
        switch output {
        case .splice(let section): add(splice: section)
        case .program(let streams): change(streams, emit)
        case .packet(let packet):
            if let index = tracks.firstIndex(where: { $0.stream.pid == packet.pid }) {
                handle(packet, index, emit)
            } else {
                droppedCount += 1
            }
        }
    }

    private mutating func warn(_ warning: RTMPWarning, _ emit: (RTMPServerEvent) -> Void) {
        // There are few kinds of warnings, and few tracks.
        if warnings.insert(warning).inserted { emit(.warning(warning)) }
    }

    // MARK: Program

    private mutating func change(_ streams: [ElementaryStream], _ emit: (RTMPServerEvent) -> Void) {
        var next: [Track] = []
        for stream in streams {
            guard let kind = stream.kind else { continue }
            guard case .supported(let codec, let mediaType) = kind else {
                if case .unsupported(let mediaType, let name) = kind { warn(.unsupportedCodec(mediaType, name), emit) }
                continue
            }
            let count = next.count { $0.id.mediaType == mediaType }
            guard count < Self.maximumTrackCount else {
                warn(.tooManyTracks(mediaType), emit)
                continue
            }
            let id = RTMPTrackID(mediaType, UInt8(count))
            next.append(
                tracks.first { $0.stream == stream && $0.id == id } ?? Track(stream: stream, id: id, codec: codec))
        }
        let ended = tracks.map(\.id).filter { id in !next.contains { $0.id == id } }
        tracks = next
        for id in ended { emit(.trackEnded(id)) }
        emit(
            .metadata(
                RTMPStreamMetadata(
                    videoTrackCount: tracks.count { $0.id.mediaType == .video },
                    audio: tracks.filter { $0.id.mediaType == .audio }.map(\.stream.audioProperties))))
    }

    // MARK: Media

    private mutating func handle(
        _ packet: ElementaryPacket, _ index: Int, _ emit: (RTMPServerEvent) -> Void
    ) {
        let times = packet.presentationTime.map { presentation in
            clock.times(presentation: presentation, decoding: packet.decodingTime, Self.maximumReordering)
        }
        switch tracks[index].codec {
        case .h264, .hevc: addVideo(packet, index, times, emit)
        case .aac: addAAC(packet, index, times?.presentation, emit)
        default: addOpus(packet, index, times?.presentation, emit)
        }
    }

    private mutating func addVideo(
        _ packet: ElementaryPacket, _ index: Int, _ times: TransportStreamClock.Times?,
        _ emit: (RTMPServerEvent) -> Void
    ) {
        let id = tracks[index].id
        let unit =
            tracks[index].codec == .hevc
            ? tracks[index].h265.accessUnit(packet) : tracks[index].h264.accessUnit(packet)
        guard let times, let unit else {
            droppedCount += 1
            return warn(.malformedFrame(id), emit)
        }
        if let configuration = unit.newConfiguration {
            tracks[index].configuration = configuration
            emit(.configuration(id, configuration))
        }
        guard !unit.bytes.isEmpty else { return }
        add(unit.bytes, unit.isKeyFrame, index, times.decoding, times.presentation, emit)
    }

    private mutating func addAAC(
        _ packet: ElementaryPacket, _ index: Int, _ time: TimeSpan?, _ emit: (RTMPServerEvent) -> Void
    ) {
        let result = tracks[index].adts.frames(packet, at: time)
        for frame in result.frames {
            if tracks[index].configuration != .aac(frame.configuration) {
                tracks[index].configuration = .aac(frame.configuration)
                emit(.configuration(tracks[index].id, .aac(frame.configuration)))
            }
            add(frame.bytes, true, index, frame.time, frame.time, emit)
        }
        report(result.droppedCount, result.hasUnknownConfiguration, index, emit)
    }

    private mutating func addOpus(
        _ packet: ElementaryPacket, _ index: Int, _ time: TimeSpan?, _ emit: (RTMPServerEvent) -> Void
    ) {
        let result = tracks[index].opus.packets(packet, at: time)
        if tracks[index].configuration == nil {
            tracks[index].configuration = .opus(.stereo)
            emit(.configuration(tracks[index].id, .opus(.stereo)))
        }
        for frame in result.packets { add(frame.bytes, true, index, frame.time, frame.time, emit) }
        report(result.droppedCount, false, index, emit)
    }

    private mutating func report(
        _ dropped: Int, _ hasUnknownConfiguration: Bool, _ index: Int, _ emit: (RTMPServerEvent) -> Void
    ) {
        guard dropped > 0 else { return }
        droppedCount += dropped
        let id = tracks[index].id
        warn(hasUnknownConfiguration ? .malformedConfiguration(id) : .malformedFrame(id), emit)
    }

    private mutating func add(
        _ bytes: [UInt8], _ isKeyFrame: Bool, _ index: Int, _ decodingTime: TimeSpan, _ presentationTime: TimeSpan,
        _ emit: (RTMPServerEvent) -> Void
    ) {
        let id = tracks[index].id
        guard tracks[index].configuration != nil else {
            droppedCount += 1
            let since = tracks[index].waitingSince ?? decodingTime
            tracks[index].waitingSince = since
            // A publisher may begin between two key frames.
            if decodingTime - since > Self.longestWait { warn(.missingConfiguration(id), emit) }
            return
        }
        let step = tracks[index].lastDecodingTime.map { decodingTime - $0 } ?? .zero
        let isDiscontinuity = step < .zero || step > RTMPMediaDemuxer.maximumStep
        tracks[index].lastDecodingTime = decodingTime
        if isDiscontinuity { warn(.discontinuity(id), emit) }
        emit(
            .accessUnit(
                RTMPAccessUnit(
                    track: id, codec: tracks[index].codec, bytes: bytes, isKeyFrame: isKeyFrame,
                    decodingTime: decodingTime, presentationTime: presentationTime, isDiscontinuity: isDiscontinuity)))
    }
}

/// Unwraps the times of a program, which have 33 bits of 90 kHz and wrap after 26.5 hours.
struct TransportStreamClock: Sendable {
    /// The times of a frame.
    struct Times: Hashable, Sendable {
        let presentation: TimeSpan
        let decoding: TimeSpan
    }

    private static let wrap: Int64 = 1 << 33
    /// The maximum distance of a time from zero in units of 90 kHz, about 12 years. Only a clock that jumps reaches it.
    private static let maximum: Int64 = 1 << 45

    private var last: Int64?

    /// Returns the times of a frame, with the fewest steps from the previous one.
    mutating func times(presentation: UInt64, decoding: UInt64?, _ maximumReordering: Int64) -> Times {
        let decodingTicks = unwrap(Int64(decoding ?? presentation))
        var offset = Self.step(from: Int64(decoding ?? presentation), to: Int64(presentation))
        if abs(offset) > maximumReordering { offset = 0 }
        return Times(presentation: Self.span(decodingTicks + offset), decoding: Self.span(decodingTicks))
    }

    /// Returns a time near that of the last frame; that of the last frame for nil. It is nil before the first frame.
    func time(of ticks: UInt64?) -> TimeSpan? {
        last.map { last in Self.span(last + (ticks.map { Self.step(from: last, to: Int64($0)) } ?? 0)) }
    }

    private mutating func unwrap(_ ticks: Int64) -> Int64 {
        guard let last else {
            self.last = ticks
            return ticks
        }
        var time = last + Self.step(from: last, to: ticks)
        // Beyond the maximum, the times restart.
        if abs(time) > Self.maximum { time = ticks }
        self.last = time
        return time
    }

    /// Returns the shortest step between two times modulo 2³³.
    private static func step(from start: Int64, to end: Int64) -> Int64 {
        let step = (end - start) & (wrap - 1)
        return step >= wrap / 2 ? step - wrap : step
    }

    private static func span(_ ticks: Int64) -> TimeSpan { .nanoseconds(ticks * 100_000 / 9) }
}

extension ElementaryStream {
    /// The content of a stream.
    enum Kind {
        case supported(FourCC, MediaType)
        case unsupported(MediaType, String)
    }

    /// The content of the stream; nil for data such as timed metadata and splice points, which are no media.
    var kind: Kind? {
        switch type {
        case 0x1B: .supported(.h264, .video)
        case 0x0F: .supported(.aac, .audio)
        case 0x01, 0x02: .unsupported(.video, "MPEG-2")
        case 0x10: .unsupported(.video, "MPEG-4 part 2")
        case 0x24: .supported(.hevc, .video)
        case 0x33: .unsupported(.video, "H.266")
        case 0x03, 0x04: .unsupported(.audio, "MP3")
        case 0x11: .unsupported(.audio, "AAC in LATM")
        case 0x81: .unsupported(.audio, "AC-3")
        case 0x87: .unsupported(.audio, "E-AC-3")
        case 0x06: privateKind
        default: nil
        }
    }

    /// Returns the content of a stream of private data by its registration (ISO/IEC 13818-1, section 2.6.8).
    private var privateKind: Kind? {
        let registration = descriptor(0x05).map { String(decoding: $0.prefix(4), as: UTF8.self) }
        switch registration {
        case "Opus":
            // The number of channels, or the code of a mapping for more than two (ETSI TS 101 154, annex on Opus).
            let channels = descriptor(0x7F).flatMap { $0.first == 0x80 ? $0.dropFirst().first : nil } ?? 2
            return channels <= 2 ? .supported(.opus, .audio) : .unsupported(.audio, "Opus with \(channels) channels")
        case "HEVC": return .supported(.hevc, .video)
        case "AV01": return .unsupported(.video, "AV1")
        case "AC-3": return .unsupported(.audio, "AC-3")
        case "EAC3": return .unsupported(.audio, "E-AC-3")
        default: break
        }
        return descriptor(0x6A) != nil
            ? .unsupported(.audio, "AC-3") : descriptor(0x7A) != nil ? .unsupported(.audio, "E-AC-3") : nil
    }

    /// The language of the audio and its purpose (ISO/IEC 13818-1, section 2.6.18).
    var audioProperties: RTMPStreamMetadata.Track {
        // A language, of which there may be several, has three letters and a type.
        guard let content = descriptor(0x0A), content.count >= 4 else { return RTMPStreamMetadata.Track() }
        return RTMPStreamMetadata.Track(
            language: String(decoding: content.prefix(3), as: UTF8.self),
            describesVideo: content[content.startIndex + 3] == 0x03)
    }

    /// Returns the content of the first descriptor with a tag.
    private func descriptor(_ tag: UInt8) -> ArraySlice<UInt8>? {
        var offset = 0
        while offset + 2 <= descriptors.count {
            let end = offset + 2 + Int(descriptors[offset + 1])
            guard end <= descriptors.count else { return nil }
            if descriptors[offset] == tag { return descriptors[offset + 2..<end] }
            offset = end
        }
        return nil
    }
}
