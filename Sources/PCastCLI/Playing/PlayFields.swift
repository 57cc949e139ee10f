import PCastCore
import PCastJSON
import PCastPlayback

/// The JSON event of a player's event; nil for events that occur with each frame or are reported in another way.
struct PlayFields {
    let name: String
    let fields: KeyValuePairs<String, JSONValue>

    private init(_ name: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) {
        (self.name, self.fields) = (name, fields)
    }

    init?(_ kind: PlayerEvent.Kind) {
        switch kind {
        case .videoChanged(let video): self.init("video", ["uri": .text(video?.preferredSource?.name)])
        case .stateChanged(let state):
            self.init("state", ["state": .string(Self.name(of: state)), "buffering": .boolean(state.isBuffering)])
        case .error(let error): self.init("error", ["description": .string("\(error)")])
        case .ready: self.init("ready")
        case .finished: self.init("finished")
        case .subtitleChanged(let text): self.init("subtitle", ["text": .text(text)])
        case .durationChanged(let duration): self.init("duration", ["duration": .measured(duration?.seconds)])
        case .mutedChanged(let isMuted): self.init("muted", ["muted": .boolean(isMuted)])
        case .volumeChanged(let volume): self.init("volume", ["volume": .measured(volume)])
        case .speedChanged(let speed): self.init("speed", ["speed": .measured(speed)])
        case .passedCuePoints(let passage):
            self.init(
                "cue",
                [
                    "previous": .measured(passage.previous.seconds), "current": .measured(passage.current.seconds),
                    "positions": .array(passage.cuePoints.map { .measured($0.position.seconds) }),
                    "types": .array(passage.cuePoints.map { .text($0.type) }),
                ])
        case .seekableRangesChanged(let ranges):
            self.init(
                "seekable",
                [
                    "from": .measured(ranges.first?.lowerBound.seconds),
                    "to": .measured(ranges.last?.upperBound.seconds),
                ])
        case .dimensionsChanged(let size):
            self.init("dimensions", ["width": .count(size.width), "height": .count(size.height)])
        case .videoScaleChanged(let scale):
            self.init(
                "videoScale",
                [
                    "scaleX": .measured(scale.scaleX), "scaleY": .measured(scale.scaleY),
                    "pivotX": .measured(scale.pivotX), "pivotY": .measured(scale.pivotY),
                    "duration": .count(scale.duration),
                ])
        case .metadata(let metadata):
            self.init(
                "metadata",
                [
                    "source": .string(metadata.source.rawValue), "position": .measured(metadata.position.seconds),
                    "name": .string(metadata.name), "value": .string(metadata.value),
                ])
        case .lifecycle, .arrived, .progressed, .mediaTypeDetermined, .externalPlaybackChanged, .tracksChanged,
            .loopChanged, .aspectModeChanged, .playlistCompleted:
            return nil
        }
    }

    private static func name(of state: PlayerState) -> String {
        switch state {
        case .idle: "idle"
        case .paused: "paused"
        case .playing: "playing"
        }
    }
}
