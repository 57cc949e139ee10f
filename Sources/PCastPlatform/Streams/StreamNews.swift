import PCastMedia

/// What who follows a participation is told of it.
enum StreamNews: Sendable {
    /// The data quality, as it is and at each change.
    case quality(DataQuality)
    /// The last.
    case ended(StreamEnd)
}
