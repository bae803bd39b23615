from libc.math cimport sqrtf

ctypedef fused gradient_t:
    float
    double


cdef inline void take_step(
    float* value, float* squares, gradient_t g, float eta, float delta
) noexcept nogil:
    """Move a weight against its gradient by AdaGrad.

    squares: The sum of its squared gradients so far.
    eta: The step size.
    delta: Added to the root of the squares.
    """
    squares[0] += <float>(g * g)
    value[0] -= <float>(eta * g / (delta + sqrtf(squares[0])))
