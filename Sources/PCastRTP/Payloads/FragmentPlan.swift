/// The division of data that is larger than a packet: fragments of equal size, except that the last may be shorter.
///
/// Consecutive packets of equal size are sent with one system call (`UDP_SEGMENT`), and the last fragment does not
/// become tiny.
struct FragmentPlan {
    /// The size of each fragment except the last in bytes.
    let size: Int

    /// Divides a number of bytes into fragments of at most a size.
    init(total: Int, maximumSize: Int) {
        precondition(total > 0 && maximumSize > 0, "the payload must not be empty, and a fragment must fit")
        let count = (total + maximumSize - 1) / maximumSize
        size = (total + count - 1) / count
    }
}
