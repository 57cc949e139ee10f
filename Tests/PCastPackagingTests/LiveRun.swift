import PCastCore
import PCastHLS
import PCastPackaging

/// A packager in virtual time with a publisher, which sends video and audio and makes key frames on request. The rules
/// for playlists are checked after every change.
struct LiveRun {
    var packager: StreamPackager
    /// The violations so far, each with the time in seconds.
    private(set) var violations: [String] = []
    /// The last playlists by the name of the rendition.
    private(set) var playlists: [String: MediaPlaylist] = [:]
    /// The time since the start.
    private(set) var time = TimeSpan.zero
    /// The names of renditions whose next frame is a key frame.
    private var keyFrames: Set<String> = []
    private var times: [String: TimeSpan] = [:]
    private let names: [String]

    /// The parameter sets of the video by rendition.
    var parameterSets: [String: [UInt8]] = [:]
    /// The frames per second.
    var frameRate = 30.0
    /// The time between key frames of a publisher that does not make them on request; nil if it does.
    var keyFrameInterval: TimeSpan?
    /// The difference of the capture clock from the real one.
    var clockError = TimeSpan.zero
    /// The offset of the RTP timestamps from time zero, in seconds.
    var timestampOffset = TimeSpan.seconds(123_456 as Int64)
    /// The number of playlist changes between two checks.
    var checkInterval = 1

    static let start = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)
    /// Whether the playlist of the captions is checked, too.
    private var captionsAreChecked = false
    private var frameNumbers: [String: Int64] = [:]
    private var lastKeyFrame: [String: TimeSpan] = [:]
    private var changes = 0

    init(_ renditions: [RenditionDescription], _ change: (inout PackagerConfiguration) -> Void = { _ in }) {
        var configuration = PackagerConfiguration(instance: "i1")
        change(&configuration)
        packager = StreamPackager(configuration, renditions: renditions)
        names = renditions.map(\.name)
        for rendition in renditions where rendition.isVideo { keyFrames.insert(rendition.name) }
    }

    /// Sends video and audio for a duration.
    ///
    /// - Parameters:
    ///   - duration: The duration.
    ///   - excluded: Renditions from which nothing arrives.
    mutating func run(_ duration: TimeSpan, without excluded: Set<String> = []) {
        let end = time + duration
        let video = names.filter { parameterSets[$0] != nil }
        while true {
            // The next frame of each rendition, in the order of their capture.
            var next: (name: String, time: TimeSpan)?
            for name in names {
                let interval = video.contains(name) ? TimeSpan(seconds: 1 / frameRate) : .milliseconds(20)
                let due = times[name].map { $0 + interval } ?? time
                if next.map({ due < $0.time }) ?? true { next = (name, due) }
            }
            guard let (name, due) = next, due < end else { break }
            times[name] = due
            time = max(time, due)
            if !excluded.contains(name) { send(name, at: due) }
            packager.advance(to: Self.start + time + clockError)
            observe()
        }
        time = end
    }

    /// Adds a caption at a time since the start, which a later part of the run may be.
    mutating func caption(_ text: String, at time: TimeSpan, for duration: Duration) {
        packager.add(
            CaptionCue(text: text, captureTime: Self.start + time + clockError, duration: duration))
        captionsAreChecked = true
    }

    /// Moves the frame times of a rendition, as a publisher does that captures less often.
    mutating func skip(_ name: String, by span: TimeSpan) { times[name] = (times[name] ?? time) + span }

    private mutating func send(_ name: String, at due: TimeSpan) {
        let number = frameNumbers[name, default: 0]
        frameNumbers[name] = number + 1
        var bytes = (0..<80).map { UInt8(truncatingIfNeeded: Int64($0) + number) }
        var rate = ClockRate.opus
        if let sets = parameterSets[name] {
            rate = .video
            let isDue = keyFrameInterval.map { due - (lastKeyFrame[name] ?? .seconds(-1_000 as Int64)) >= $0 }
            let isKeyFrame = isDue ?? (keyFrames.remove(name) != nil)
            if isKeyFrame { lastKeyFrame[name] = due }
            bytes = MediaSamples.unit(isKeyFrame: isKeyFrame, parameterSets: sets, number: Int(number))
        }
        packager.append(
            AccessUnit(
                bytes: bytes, timestamp: rate.ticks(in: due + timestampOffset),
                captureTime: Self.start + due + clockError), to: name)
    }

    /// Takes the events, and checks playlists that changed.
    mutating func observe() {
        let updates = packager.takeUpdates()
        keyFrames.formUnion(updates.needsKeyFrame)
        guard !updates.changed.isEmpty else { return }
        changes += 1
        guard changes % checkInterval == 0 || packager.isFinished else { return }
        check()
    }

    private mutating func check() {
        var current: [String: MediaPlaylist] = [:]
        for name in names + (captionsAreChecked ? [StreamPackager.captionsName] : []) {
            guard let playlist = packager.mediaPlaylist(of: name) else { continue }
            current["\(name).m3u8"] = playlist
            if let before = playlists[name], checkInterval == 1 {
                add(MediaPlaylistRules.check(playlist, after: before), name)
            }
            playlists[name] = playlist
            add(MediaPlaylistRules.check(text: playlist.text), name)
            if let read = try? MediaPlaylist(playlist.text) {
                if read != playlist { violations.append("\(time.seconds): \(name) is read differently") }
                if let update = try? MediaPlaylist(playlist.deltaUpdate, updating: read), update != playlist {
                    violations.append("\(time.seconds): the delta update of \(name) is read differently")
                }
            }
        }
        guard let multivariant = packager.multivariantPlaylist else { return }
        add(PresentationRules.check(multivariant, media: current), "all")
    }

    private mutating func add(_ found: [RuleViolation], _ name: String) {
        guard violations.count < 20 else { return }
        violations += found.map { "\(time.seconds): \(name): \($0)" }
    }

    /// Returns the file of a segment behind its initialization segment; nil if it is not held.
    func file(of segment: MediaSegment, in name: String) -> [UInt8]? {
        guard let map = segment.initialization, let uri = segment.uri else { return nil }
        guard let first = bytes(map.uri, name), let second = bytes(uri, name) else { return nil }
        return first + second
    }

    /// Returns the bytes of a URI in a playlist; nil if there is no such file.
    func bytes(_ uri: String, _ name: String) -> [UInt8]? {
        guard uri.hasPrefix(name + "/") else { return nil }
        let isText = name == StreamPackager.captionsName
        return PackagedFile(name: String(uri.dropFirst(name.count + 1)), instance: "i1", isText: isText).flatMap {
            packager.file($0, of: name)
        }
    }
}
