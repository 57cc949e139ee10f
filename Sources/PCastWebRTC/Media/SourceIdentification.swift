/// What a packet says of the track that it is of.
enum SourceIdentification {
    /// Nothing.
    case none
    case own
    case other
}
