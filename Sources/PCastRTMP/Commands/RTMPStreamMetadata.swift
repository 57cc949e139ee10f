/// The properties of a stream that its publisher declares with `onMetaData`. They may be wrong; the codec
/// configurations are authoritative.
package struct RTMPStreamMetadata: Hashable, Sendable {
    /// The declared properties of a track; nil for those that are absent.
    package struct Track: Hashable, Sendable {
        /// The width of the video.
        package var width: Int?
        /// The height of the video.
        package var height: Int?
        /// The frame rate of the video in frames per second.
        package var frameRate: Double?
        /// The bit rate in kilobits per second.
        package var kilobits: Double?
        /// The codec, if it is declared by its four characters.
        package var codec: FourCC?
        /// The sample rate of the audio in hertz.
        package var sampleRate: Int?
        /// The number of channels of the audio.
        package var channels: Int?
        /// The language of the audio (BCP 47), which is not standardized. A transport stream has a code of ISO 639-2.
        package var language: String?
        /// Whether the audio describes the video, for people who do not see it.
        package var describesVideo = false

        /// Creates properties of audio.
        package init(language: String? = nil, describesVideo: Bool = false) {
            self.language = language
            self.describesVideo = describesVideo
        }
    }

    /// The name of the encoder; nil if it is absent.
    package let encoder: String?
    /// The video tracks by their ID. The default track is 0.
    package let videoTracks: [UInt8: Track]
    /// The audio tracks by their ID. The default track is 0.
    package let audioTracks: [UInt8: Track]

    /// Reads the argument of `onMetaData`.
    init(_ object: AMF0Object) {
        encoder = object["encoder"]?.string.map { String($0.unicodeScalars.prefix(128)) }
        videoTracks = Self.tracks(object, map: "videoTrackIdInfoMap", Track.init(video:))
        audioTracks = Self.tracks(object, map: "audioTrackIdInfoMap", Track.init(audio:))
    }

    /// Creates a declaration of tracks without properties, numbered from 0.
    package init(videoTrackCount: Int, audioTrackCount: Int) {
        encoder = nil
        videoTracks = Self.tracks(videoTrackCount)
        audioTracks = Self.tracks(audioTrackCount)
    }

    /// Creates a declaration of tracks, numbered from 0, of which the audio has properties.
    package init(videoTrackCount: Int, audio: [Track]) {
        encoder = nil
        videoTracks = Self.tracks(videoTrackCount)
        audioTracks = Dictionary(
            audio.enumerated().map { (UInt8(truncatingIfNeeded: $0), $1) }, uniquingKeysWith: { first, _ in first })
    }

    private static func tracks(_ count: Int) -> [UInt8: Track] {
        Dictionary(
            (0..<count).map { (UInt8(truncatingIfNeeded: $0), Track()) }, uniquingKeysWith: { first, _ in first })
    }

    private static func tracks(
        _ object: AMF0Object, map: String, _ track: (AMF0Object) -> Track
    ) -> [UInt8: Track] {
        var tracks: [UInt8: Track] = [:]
        let first = track(object)
        if first != Track() { tracks[0] = first }
        for property in object[map]?.object?.properties ?? [] {
            guard let id = UInt8(property.name), let object = property.value.object else { continue }
            tracks[id] = track(object)
        }
        return tracks
    }
}

extension RTMPStreamMetadata.Track {
    fileprivate init(video object: AMF0Object) {
        self.init()
        width = object["width"]?.count
        height = object["height"]?.count
        frameRate = object["framerate"]?.positive
        kilobits = object["videodatarate"]?.positive
        codec = object["videocodecid"]?.fourCC
    }

    fileprivate init(audio object: AMF0Object) {
        self.init()
        kilobits = object["audiodatarate"]?.positive
        codec = object["audiocodecid"]?.fourCC
        sampleRate = object["audiosamplerate"]?.count ?? object["samplerate"]?.count
        channels =
            object["audiochannels"]?.count ?? object["channels"]?.count ?? object["stereo"]?.boolean.map { $0 ? 2 : 1 }
        language = object["language"]?.string.map { String($0.unicodeScalars.prefix(35)) }
    }
}

extension AMF0Value {
    /// The number, if it is positive and finite.
    fileprivate var positive: Double? { number.flatMap { $0 > 0 && $0.isFinite ? $0 : nil } }

    /// The codec, if it is a text or a number of four characters.
    fileprivate var fourCC: FourCC? {
        if let string { return FourCC(string) }
        guard let count, count > 0xFF_FFFF, let value = UInt32(exactly: count) else { return nil }
        return FourCC(rawValue: value)
    }
}
