internal import PCastCodecs

extension ContentItem {
    /// Creates an item from a decoded sample; nil for metadata.
    init?(_ sample: PresentationSample) {
        switch sample {
        case .picture(let picture, let position, let duration):
            self = .picture(picture, at: position, duration: duration)
        case .sound(let sound, let position): self = .sound(sound, at: position)
        case .text(let text, let range): self = .subtitle(text, range)
        case .metadata: return nil
        }
    }
}
