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
