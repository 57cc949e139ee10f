import PCastCore
import PCastHLS
import PCastTestSupport

/// A live program and its playlist at any time, as an origin with a sliding window sends it.
struct LiveServer {
    let segments: [MediaSegment]
    /// The time at which each segment is complete, since the start of the program.
    let ends: [TimeSpan]
    /// The number of segments in the window; nil to keep all.
    var window: Int? = 6
    var hasParts = true
    var serverControl = ServerControl(canSkipUntil: .seconds(24 as Int64), canBlockReload: true)
    /// The length of the parts of the newest segments.
    let partDuration = TimeSpan.milliseconds(500)

    /// Creates a server with a number of segments of 3.5 to 4 s. If `dates` is true, some segments state their date,
    /// and so does each one that begins with a discontinuity, at which the wall clock jumps.
    init(seed: UInt64, count: Int = 60, discontinuities: Bool = true, dates: Bool = true, first: Int64 = 0) {
        var generator = SeededGenerator(seed: seed)
        var segments: [MediaSegment] = []
        var ends: [TimeSpan] = []
        var (end, discontinuity, time) = (TimeSpan.zero, Int64(0), wall(0))
        var key: [EncryptionKey] = []
        for index in 0..<count {
            let duration = TimeSpan.milliseconds(500) * Int64.random(in: 7...8, using: &generator)
            let jumps = discontinuities && index > 0 && Int.random(in: 0..<7, using: &generator) == 0
            if jumps {
                discontinuity += 1
                time = time + .seconds(Int64.random(in: 1...100, using: &generator))
            }
            if Int.random(in: 0..<5, using: &generator) == 0 { key = [EncryptionKey(uri: "key\(index)")] }
            let isDated = dates && (jumps || index == 0 || Int.random(in: 0..<4, using: &generator) == 0)
            let parts = (0..<Int(duration.nanoseconds / 500_000_000)).map {
                PartialSegment(uri: "\(index).\($0).mp4", duration: .milliseconds(500), isIndependent: $0 % 4 == 0)
            }
            segments.append(
                MediaSegment(
                    number: first + Int64(index), uri: "\(index).mp4", duration: duration, discontinuity: discontinuity,
                    isDiscontinuity: jumps, keys: key,
                    initialization: MediaInitialization(uri: "init\(discontinuity).mp4", keys: key),
                    programDateTime: isDated ? time : nil,
                    kilobitsPerSecond: Int64.random(in: 100...103, using: &generator), parts: parts))
            // The initialization is that of the discontinuity's first segment, with its key.
            if !jumps, index > 0 { segments[index].initialization = segments[index - 1].initialization }
            end += duration
            time = time + duration
            ends.append(end)
        }
        self.segments = segments
        self.ends = ends
    }

    var end: TimeSpan { ends.last! }

    /// Returns the playlist at a time of the program.
    func playlist(at time: TimeSpan) -> MediaPlaylist {
        let whole = ends.prefix { $0 <= time }.count
        let first = max(0, whole - (window ?? whole))
        var kept = Array(segments[first..<whole])
        // Parts of segments older than three target durations are removed.
        for index in kept.indices where !hasParts || ends[first + index] < time - .seconds(12 as Int64) {
            kept[index].parts = []
        }
        var playlist = MediaPlaylist(
            version: 9, targetDuration: .seconds(4 as Int64), partTargetDuration: hasParts ? partDuration : nil,
            mediaSequence: segments[first].number,
            discontinuitySequence: first == 0 ? 0 : segments[first - 1].discontinuity,
            kind: window == nil ? .event : nil, isComplete: whole == segments.count, serverControl: serverControl,
            segments: kept)
        if hasParts, whole < segments.count {
            let begin = whole == 0 ? TimeSpan.zero : ends[whole - 1]
            let made = Int((time - begin).nanoseconds / partDuration.nanoseconds)
            var open = segments[whole]
            open.uri = nil
            open.parts = Array(open.parts.prefix(made))
            open.duration = partDuration * Int64(open.parts.count)
            if !open.parts.isEmpty { playlist.openSegment = open }
        }
        return playlist
    }

    /// Returns the wall-clock time that was on air at a position of the program.
    func wallTime(at position: TimeSpan) -> WallTime? {
        guard let index = ends.firstIndex(where: { $0 > position }),
            let dated = segments[...index].lastIndex(where: { $0.programDateTime != nil }),
            let date = segments[dated].programDateTime
        else { return nil }
        return date + (position - (dated == 0 ? .zero : ends[dated - 1]))
    }
}
