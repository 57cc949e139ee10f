/// How something larger than a packet is cut: fragments of one size, of which only the last may be shorter.
///
/// Packets of one size that follow each other leave in one system call (UDP_SEGMENT), and a balanced cut leaves no
/// tiny rest that costs a whole packet's overhead.
struct FragmentPlan {
    /// The size of every fragment but the last.
    let size: Int

    init(total: Int, maximumSize: Int) {
        precondition(total > 0 && maximumSize > 0, "nothing to cut, or no room for a fragment")
        let count = (total + maximumSize - 1) / maximumSize
        size = (total + count - 1) / count
    }
}
