public import PCastMedia

/// What sources there are on this machine, and how one is opened.
public enum SourceDevices {
    /// Every source of a medium, the best first. Hardware would stand before what computation makes.
    public static func enumerate(_ mediaType: MediaType) -> [SourceDeviceInfo] {
        let (test, nothing) = mediaType == .video ? ("Test picture", "Black picture") : ("Clapper", "Silence")
        return [
            SourceDeviceInfo(id: "synthetic", name: test, mediaType: mediaType, deviceType: .synthetic),
            SourceDeviceInfo(id: "null", name: nothing, mediaType: mediaType, deviceType: .null),
        ]
    }

    /// Opens the sources of one publication together, so that one file is read once for both and stays in step.
    ///
    /// - Parameters:
    ///   - dimensions: of a source that can choose; a file has its own.
    ///   - frameRate: of a source that can choose, in whole pictures a second.
    /// - Throws: `.notFound` for hardware that is not there, `.unreadable` for a file that cannot be opened, `.noTrack`
    ///   when it holds no such medium.
    public static func open(
        video: SourceSpecification?, audio: SourceSpecification?,
        dimensions: Dimensions = Dimensions(width: 1_280, height: 720), frameRate: Int = 30, channels: Int = 2
    ) throws(DeviceError) -> (video: (any VideoSource)?, audio: (any AudioSource)?) {
        if case .uri(let uri, let isLooping) = video, video == audio {
            let source = try URISource(uri: uri, media: [.video, .audio], isLooping: isLooping)
            return (try source.video(), try source.audio())
        }
        var sources: (video: (any VideoSource)?, audio: (any AudioSource)?) = (nil, nil)
        if let video { sources.video = try openVideo(video, dimensions: dimensions, frameRate: frameRate) }
        if let audio { sources.audio = try openAudio(audio, channels: channels) }
        return sources
    }

    private static func openVideo(
        _ specification: SourceSpecification, dimensions: Dimensions, frameRate: Int
    ) throws(DeviceError) -> any VideoSource {
        switch specification {
        case .synthetic: return SyntheticVideoSource(dimensions: dimensions, frameRate: frameRate)
        case .null: return NullVideoSource(dimensions: dimensions, frameRate: frameRate)
        case .uri(let uri, let isLooping):
            return try URISource(uri: uri, media: [.video], isLooping: isLooping).video()
        case .microphone: throw .unusable("\(specification)", reason: "a microphone has no picture")
        case .camera, .screen: throw .notFound("\(specification)", lookedIn: "/dev/video*")
        }
    }

    private static func openAudio(
        _ specification: SourceSpecification, channels: Int
    ) throws(DeviceError) -> any AudioSource {
        switch specification {
        case .synthetic: return SyntheticAudioSource(channels: channels)
        case .null: return NullAudioSource(channels: channels)
        case .uri(let uri, let isLooping):
            return try URISource(uri: uri, media: [.audio], isLooping: isLooping).audio()
        case .camera, .screen: throw .unusable("\(specification)", reason: "it has no sound")
        case .microphone: throw .notFound("\(specification)", lookedIn: "/dev/snd")
        }
    }
}
