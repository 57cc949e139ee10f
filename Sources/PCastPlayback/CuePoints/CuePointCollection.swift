/// Cue points by position; those of one position in the order in which they were added.
public struct CuePointCollection: Hashable, Sendable {
    public private(set) var cuePoints: [CuePoint]

    public init(_ cuePoints: [CuePoint] = []) {
        self.cuePoints = cuePoints.enumerated()
            .sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }.map(\.element)
    }

    public mutating func add(_ cuePoint: CuePoint) {
        cuePoints.insert(cuePoint, at: index { $0.position > cuePoint.position })
    }

    /// All that are the same.
    public mutating func remove(_ cuePoint: CuePoint) { cuePoints.removeAll { $0 == cuePoint } }

    public func ofType(_ type: String) -> CuePointCollection {
        CuePointCollection(cuePoints.filter { $0.type == type })
    }

    public func after(_ position: PlaybackProgress) -> CuePointCollection {
        slice(index { $0.position > position }..<cuePoints.count)
    }

    public func atOrAfter(_ position: PlaybackProgress) -> CuePointCollection {
        slice(index { $0.position >= position }..<cuePoints.count)
    }

    public func at(_ position: PlaybackProgress) -> CuePointCollection {
        slice(index { $0.position >= position }..<index { $0.position > position })
    }

    public func before(_ position: PlaybackProgress) -> CuePointCollection {
        slice(0..<index { $0.position >= position })
    }

    public func atOrBefore(_ position: PlaybackProgress) -> CuePointCollection {
        slice(0..<index { $0.position > position })
    }

    /// The first index for which the condition holds, which from there on holds for all.
    private func index(where isBehind: (CuePoint) -> Bool) -> Int {
        var (low, high) = (0, cuePoints.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(cuePoints[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private func slice(_ range: Range<Int>) -> CuePointCollection {
        var slice = CuePointCollection()
        slice.cuePoints = Array(cuePoints[range])
        return slice
    }

    /// Those that a move of the playhead passes: its start does not count and its destination does, whichever way it goes.
    public func passed(from previous: PlaybackProgress, to current: PlaybackProgress) -> CuePointCollection {
        if previous <= current {
            slice(index { $0.position > previous }..<index { $0.position > current })
        } else {
            slice(index { $0.position >= current }..<index { $0.position >= previous })
        }
    }
}

extension CuePointCollection: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { cuePoints.count }
    public subscript(position: Int) -> CuePoint { cuePoints[position] }
}
