// The parts of containers that live in the C++ library. They know nothing of
// what the nodes hold and move pointers only, which have no labels.
#include "cxx.h"

#include <bits/stl_tree.h>

using Node = std::_Rb_tree_node_base;

extern "C" {

void __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(bool, Node *, Node *, Node &);

// On which side a node goes is part of the path.
void __model__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(bool left, Node *node, Node *parent,
                                                                               Node &header)
{
    if (left)
        __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(true, node, parent, header);
    else
        __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(false, node, parent, header);
}

} // extern "C"
