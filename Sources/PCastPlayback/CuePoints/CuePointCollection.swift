public import PCastJSON

/// A collection of cue points, ordered by position. Cue points at one position keep the order in which they were added.
public struct CuePointCollection: Hashable, Sendable {
    /// The cue points in order.
    public private(set) var cuePoints: [CuePoint]

    /// Creates a collection of cue points, which may be in any order.
    public init(_ cuePoints: [CuePoint] = []) {
        self.cuePoints = cuePoints.enumerated()
            .sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }.map(\.element)
    }

    /// Adds a cue point behind all others at its position.
    public mutating func add(_ cuePoint: CuePoint) {
        cuePoints.insert(cuePoint, at: index { $0.position > cuePoint.position })
    }

    /// Removes all cue points that are equal to `cuePoint`.
    public mutating func remove(_ cuePoint: CuePoint) { cuePoints.removeAll { $0 == cuePoint } }

    /// Returns the cue points of a type.
    public func ofType(_ type: String) -> CuePointCollection {
        CuePointCollection(cuePoints.filter { $0.type == type })
    }

    /// Returns the cue points after a position.
    public func after(_ position: PlaybackProgress) -> CuePointCollection {
        slice(index { $0.position > position }..<cuePoints.count)
    }

    /// Returns the cue points at or after a position.
    public func atOrAfter(_ position: PlaybackProgress) -> CuePointCollection {
        slice(index { $0.position >= position }..<cuePoints.count)
    }

    /// Returns the cue points at exactly a position.
    public func at(_ position: PlaybackProgress) -> CuePointCollection {
        slice(index { $0.position >= position }..<index { $0.position > position })
    }

    /// Returns the cue points before a position.
    public func before(_ position: PlaybackProgress) -> CuePointCollection {
        slice(0..<index { $0.position >= position })
    }

    /// Returns the cue points at or before a position.
    public func atOrBefore(_ position: PlaybackProgress) -> CuePointCollection {
        slice(0..<index { $0.position > position })
    }

    /// Returns the first index for which the condition holds. The condition must hold for all later indexes too.
    private func index(where isBehind: (CuePoint) -> Bool) -> Int {
        var (low, high) = (0, cuePoints.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(cuePoints[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Returns the cue points in a range of indexes.
    private func slice(_ range: Range<Int>) -> CuePointCollection {
        var slice = CuePointCollection()
        slice.cuePoints = Array(cuePoints[range])
        return slice
    }

    /// Returns the cue points that a move of the playhead passes, in either direction. The start of the move is
    /// excluded, and its destination is included.
    public func passed(from previous: PlaybackProgress, to current: PlaybackProgress) -> CuePointCollection {
        if previous <= current {
            slice(index { $0.position > previous }..<index { $0.position > current })
        } else {
            slice(index { $0.position >= current }..<index { $0.position >= previous })
        }
    }
}

extension CuePointCollection: RandomAccessCollection {
    /// The index of the first cue point.
    public var startIndex: Int { 0 }
    /// The index after the last cue point.
    public var endIndex: Int { cuePoints.count }
    /// Returns the cue point at an index. It traps if the index is out of bounds.
    public subscript(position: Int) -> CuePoint { cuePoints[position] }
}

/// A marked position of an item, for example an advertisement, a goal or a chapter. Cue points with equal properties
/// are equal.
public struct CuePoint: Hashable, Sendable {
    /// The application-defined type; nil for none.
    public var type: String?
    /// The position in the item.
    public var position: PlaybackProgress
    /// The application-defined properties.
    public var properties: [String: JSONValue]

    /// Creates a cue point at a progress, which may be before the beginning or after the end.
    public init(type: String? = nil, at position: PlaybackProgress, properties: [String: JSONValue] = [:]) {
        self.type = type
        self.position = position
        self.properties = properties
    }

    /// Creates a cue point at a position of the item.
    public init(type: String? = nil, at position: Duration, properties: [String: JSONValue] = [:]) {
        self.init(type: type, at: .at(position), properties: properties)
    }

    /// Returns a cue point at position zero, which is passed when the item begins (Brightcove's "before").
    public static func beforeContent(type: String? = nil, properties: [String: JSONValue] = [:]) -> CuePoint {
        CuePoint(type: type, at: .at(.zero), properties: properties)
    }

    /// Returns a cue point after the end, which is passed when the item ends, whatever its duration (Brightcove's
    /// "after").
    public static func afterContent(type: String? = nil, properties: [String: JSONValue] = [:]) -> CuePoint {
        CuePoint(type: type, at: .afterEnd, properties: properties)
    }
}

/// Detects the cue points that the playhead of one session passes.
public struct CuePointProgress: Sendable {
    /// The cue points. A change does not report cue points at positions that the playhead has already passed.
    public var cuePoints: CuePointCollection
    /// The last progress of the playhead.
    public private(set) var progress: PlaybackProgress
    private var epoch = PlayheadEpoch()

    /// Creates a detector. It reports no cue points at or before `progress`, which is the position where a viewer joins
    /// a live stream.
    public init(_ cuePoints: CuePointCollection, from progress: PlaybackProgress = .beforeBeginning) {
        self.cuePoints = cuePoints
        self.progress = progress
    }

    /// Moves to the playhead, by playback or by a completed seek, and returns the cue points that this passed. Returns
    /// nil if there are none, while a seek is in progress, and for a playhead of an earlier epoch.
    public mutating func follow(_ playhead: Playhead) -> CuePointPassage? {
        guard playhead.epoch >= epoch, !playhead.isSeeking else { return nil }
        epoch = playhead.epoch
        return move(to: playhead.position)
    }

    /// Moves to a position and returns the cue points that this passed; nil if there are none. The caller has checked
    /// the epoch.
    mutating func move(to position: Duration) -> CuePointPassage? { move(to: .at(position)) }

    /// Returns to the progress before the beginning, because the item restarts.
    mutating func restart() { progress = .beforeBeginning }

    /// Moves after the end of the item and returns the cue points that this passed; nil if there are none.
    public mutating func finish() -> CuePointPassage? { move(to: .afterEnd) }

    /// Moves to a progress and returns the cue points that this passed; nil if there are none.
    private mutating func move(to current: PlaybackProgress) -> CuePointPassage? {
        let previous = progress
        progress = current
        let passed = cuePoints.passed(from: previous, to: current)
        return passed.isEmpty ? nil : CuePointPassage(previous: previous, current: current, cuePoints: passed)
    }
}

/// A move of the playhead over one or more cue points. A move is one event, whatever its distance.
public struct CuePointPassage: Hashable, Sendable {
    /// The progress before the move.
    public var previous: PlaybackProgress
    /// The progress after the move.
    public var current: PlaybackProgress
    /// The cue points that the move passed. There is at least one.
    public var cuePoints: CuePointCollection

    /// Creates a passage.
    public init(previous: PlaybackProgress, current: PlaybackProgress, cuePoints: CuePointCollection) {
        self.previous = previous
        self.current = current
        self.cuePoints = cuePoints
    }
}
