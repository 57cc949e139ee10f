import ArgumentParser
import PCastCore
import PCastPlayback

/// A cue point, written as `90s`, or as `90s=goal` with its type.
struct CueArgument: ExpressibleByArgument {
    let cuePoint: CuePoint

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard let text = parts.first, let position = DurationArgument(argument: text) else { return nil }
        cuePoint = CuePoint(type: parts.count > 1 ? parts[1] : nil, at: position.span)
    }
}
