/// Video or audio (Phenix: `PhenixMediaType`).
public enum MediaType: String, Sendable, CaseIterable {
    case video
    case audio
}
